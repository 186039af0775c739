"""Conversion to and from Montgomery words."""

from ...field.numpy_field import from_montgomery, to_montgomery

__all__ = ["from_montgomery", "to_montgomery"]
