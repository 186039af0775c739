"""`python -m whir_mlx.bench`: the command `whir-mlx bench` by itself."""

from whir_mlx.cli.bench import bench

if __name__ == "__main__":
    bench(prog_name="python -m whir_mlx.bench")
