"""What an error of a controller means for an operator. Pure."""

from odradek.protocol.errors import ErrorCode, error_name

DENIED = (
    "the controllers deny CLUSTER_ACTION to this broker. Add its principal to super.users of the controllers, or"
    " allow it by an ACL: kafka-acls.sh --bootstrap-controller HOST:PORT --add --cluster --operation ClusterAction"
    " --allow-principal User:NAME"
)


def described(code: int) -> str:
    """The name of an error, with what to do if this broker lacks a permission."""
    name = error_name(code)
    return f"{name}: {DENIED}" if code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED else name
