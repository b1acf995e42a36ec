"""stub"""
def solve_newton(system, start, guess):
    raise NotImplementedError
