"""The assignor functions, by their names in JoinGroup."""

from .range import range_assignor
from .round_robin import round_robin_assignor
from .sticky import cooperative_sticky_assignor, sticky_assignor
from .subscriptions import Assignor

ASSIGNORS: dict[str, Assignor] = {
    "range": range_assignor,
    "roundrobin": round_robin_assignor,
    "sticky": sticky_assignor,
    "cooperative-sticky": cooperative_sticky_assignor,
}
