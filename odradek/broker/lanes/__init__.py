"""Short ways for the common shapes of small requests; every other request takes the general path.

Each module has the lane of one API, with its border in the docstring (:mod:`..dispatch.lane` says what a lane is).
"""
