"""Elementwise arithmetic of the quartic extension: (..., 4) Montgomery words."""

from ...field.numpy_ext import ext_inverse, ext_mul
from ...field.numpy_field import add as ext_add
from ...field.numpy_field import sub as ext_sub

__all__ = ["ext_add", "ext_inverse", "ext_mul", "ext_sub"]
