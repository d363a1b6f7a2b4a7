"""The admin client, one module for each family of requests. Kafka: ``KafkaAdminClient``.

Importing this package imports none of its modules. The names that it exports are those of ``admin``, which is imported
when one of them is first used (PEP 562).
"""

from typing import TYPE_CHECKING

# By full names: mypy also meets this file under a package of tests/.
from odradek.protocol.common.lazy_exports import lazy_exports_of

if TYPE_CHECKING:
    from odradek.client.admin.admin import *  # noqa: F403
else:
    __getattr__ = lazy_exports_of(__name__, "admin")
