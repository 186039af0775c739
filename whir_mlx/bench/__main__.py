"""`python -m whir_mlx.bench`: the command `whir-mlx bench` by itself."""

from whir_mlx.cli.bench import bench
from whir_mlx.cli.main import start_gpu_early

if __name__ == "__main__":
    start_gpu_early()
    bench(prog_name="python -m whir_mlx.bench")
