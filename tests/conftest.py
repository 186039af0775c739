"""Settings of every test: Hypothesis draws the same bounded examples each run, and the GPU markers."""

from hypothesis import HealthCheck, settings

# A first example may compile a kernel, so there is no deadline.
settings.register_profile(
    "whir-mlx",
    deadline=None,
    max_examples=25,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("whir-mlx")


def pytest_configure(config):
    config.addinivalue_line("markers", "cuda: needs an NVIDIA GPU and MLX's CUDA build")
    config.addinivalue_line("markers", "metal: needs an Apple GPU")
