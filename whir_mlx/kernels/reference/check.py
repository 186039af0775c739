"""The one refusal of the twins: on the `numpy` device nothing stands between the caller and them."""

__all__ = ["require"]


def require(condition: bool, name: str, rule: str, value: object) -> None:
    """Raise ValueError "`name` must be `rule`, got `value`" unless `condition` holds."""
    if not condition:
        raise ValueError(f"{name} must be {rule}, got {value}")
