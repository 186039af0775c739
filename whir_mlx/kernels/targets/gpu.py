def usable_gpu(): return None
