"""`python -m whir_mlx`: the command line."""

from whir_mlx.cli.main import main

if __name__ == "__main__":
    main(prog_name="whir-mlx")
