"""JAAS configurations: both grammars. Errors have the position, but no secret."""

import pytest

from odradek.protocol.security.jaas import PLAIN_MODULE, JaasError, JaasModule, parse_file, parse_module, parse_modules

FILE = """
// the brokers
KafkaServer {
    org.apache.kafka.common.security.plain.PlainLoginModule required
        user_alice="a\\"b"  /* two
        lines */ user_bob="c;d" # not a comment here
    ;
};
"""


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ('a.B required user_alice="secret" x=y;', {"user_alice": "secret", "x": "y"}),
        ("a.B REQUIRED p='it''s' q=\"\" ;", None),
        (r'a.B optional p="\"\\\n\101\0" ;', {"p": '"\\\nA\0'}),
        ("a.B sufficient // comment\n  p=w-1_$.x;/* end", {"p": "w-1_$.x"}),
        ("a.B requisite p=\u00fcber;", {"p": "\u00fcber"}),
        ('a.B required p="one" p="two";', {"p": "two"}),
        ('a.B required "p q"="r";', {"p q": "r"}),
    ],
)
def test_modules(text: str, options: dict[str, str] | None) -> None:
    if options is None:
        with pytest.raises(JaasError, match="= is expected"):
            parse_module(text)
    else:
        assert parse_module(text).options == options


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Login module not specified"),
        ("a.B", "at the end, line 1, column 4: a control flag"),
        ("a.B needed;", "line 1, column 5: a control flag is expected after the module's name: REQUIRED"),
        ("a.B required", "at the end, line 1, column 13: name=value"),
        ('a.B required\n password="hunter2" user_b=123hunter2;', "line 2, column 28: the value of the option 'user_b'"),
        ("a.B required password;", "line 1, column 22: = is expected after the option 'password'"),
        ("a.B required password=;", "the value of the option 'password' must be in quotes"),
        ('a.B required p="x"; c.D required;', "contains 2 login modules, should be 1 module"),
        ("a.B required {", "line 1, column 14: name=value"),
    ],
)
def test_errors_name_the_position_and_never_a_value(text: str, said: str) -> None:
    with pytest.raises(JaasError) as refused:
        parse_module(text)
    assert said in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_a_file_has_contexts_with_several_modules() -> None:
    text = (
        FILE.replace("# not a comment here", "") + f'x.KafkaServer {{ {PLAIN_MODULE} required a="b"; c.D optional; }};'
    )
    contexts = parse_file(text)
    assert contexts["KafkaServer"] == [JaasModule(PLAIN_MODULE, "REQUIRED", {"user_alice": 'a"b', "user_bob": "c;d"})]
    assert [module.name for module in contexts["x.KafkaServer"]] == [PLAIN_MODULE, "c.D"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("KafkaServer [", "line 1, column 13: { is expected"),
        ("A { b.C required; };\nA { };", "line 2, column 1: the login context 'A' is defined twice"),
        ("A { b.C required p='hunter2'; };", "line 1, column 20: the value of the option 'p' must be in quotes"),
        ("A { b.C required; }", "at the end, line 1, column 20: ; is expected"),
        ('A { b.C required p="${hunter2}"; };', "line 1, column 20: the option 'p' has ${...}"),
        ("A { b.C required;", "at the end, line 1, column 18: the class name"),
    ],
)
def test_errors_in_files(text: str, said: str) -> None:
    with pytest.raises(JaasError) as refused:
        parse_file(text)
    assert said in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_values_do_not_show() -> None:
    (module,) = parse_modules('a.B required password="hunter2";')
    assert "hunter2" not in repr(module)
    assert "password" in repr(module)
