"""What our kernels may be made of: an allow-list over clang's syntax tree, for what merely compiling does not refuse.

Every kind of node that is not named here is refused, so a construct is let in by a decision. Beyond kinds: no
recursion, no function pointers, static locals, floats, structs or 64-bit words in device memory, no pointer without an
address space, no name of Metal's or of MLX's preamble, and only `for` loops that count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.kernels.metal_clang import preamble_names, syntax_tree

STATEMENTS = {
    "AttributedStmt", "BreakStmt", "CompoundStmt", "ContinueStmt", "DeclStmt", "ForStmt", "IfStmt", "LoopHintAttr",
    "NullStmt", "ReturnStmt",
}  # fmt: skip
EXPRESSIONS = {
    "ArraySubscriptExpr", "BinaryOperator", "CStyleCastExpr", "CallExpr", "CompoundAssignOperator",
    "ConditionalOperator", "ConstantExpr", "CXXBoolLiteralExpr", "CXXConstructExpr", "CXXFunctionalCastExpr",
    "CXXMemberCallExpr", "CXXOperatorCallExpr", "CXXStaticCastExpr", "CXXTemporaryObjectExpr", "CXXThisExpr",
    "DeclRefExpr", "ExprWithCleanups", "ExtVectorElementExpr", "ImplicitCastExpr", "InitListExpr", "IntegerLiteral",
    "MaterializeTemporaryExpr", "MemberExpr", "ParenExpr", "SubstNonTypeTemplateParmExpr", "UnaryOperator",
    # Only in templates that are not instantiated yet.
    "CXXDependentScopeMemberExpr", "CXXUnresolvedConstructExpr", "UnresolvedLookupExpr",
}  # fmt: skip
DECLARATIONS = {
    "AlwaysInlineAttr", "BuiltinType", "CXXConstructorDecl", "CXXCtorInitializer", "CXXDestructorDecl", "CXXMethodDecl",
    "CXXRecordDecl", "ClassTemplateDecl", "ClassTemplateSpecializationDecl", "FieldDecl", "FunctionDecl",
    "FunctionTemplateDecl", "NonTypeTemplateParmDecl", "OpenCLKernelAttr", "ParmVarDecl", "PointerType", "QualType",
    "RecordType", "TemplateArgument", "TemplateTypeParmDecl", "TypedefDecl", "TypedefType", "VarDecl", "AutoType",
    "TemplateSpecializationType", "ElaboratedType", "SubstTemplateTypeParmType",
}  # fmt: skip
ALLOWED = STATEMENTS | EXPRESSIONS | DECLARATIONS
# Words of device, constant and threadgroup memory.
MEMORY_WORDS = {"uint", "uint32_t", "unsigned int", "atomic<uint32_t>", "atomic<unsigned int>", "atomic<uint>"}
METAL_WORDS = {
    "array", "array_ref", "as_type", "atomic", "bfloat", "bool2", "constant", "device", "discard_fragment", "fragment",
    "half", "imageblock", "kernel", "matrix", "object", "mesh", "packed", "patch", "quad", "ray", "sampler", "stage_in",
    "tensor", "texture1d", "texture2d", "thread", "threadgroup", "uchar", "ushort", "user", "vec", "vertex", "visible",
    "clamp", "saturate", "sign", "step", "mix", "dot", "cross", "length", "normalize", "reflect", "fract", "trunc",
    "round", "floor", "ceil", "sqrt", "pow", "exp", "log", "fma", "abs", "all", "any", "fence", "barrier",
}  # fmt: skip
_SPACED = re.compile(r"__(?:global|constant|local) ((?:unsigned int|atomic<[\w ]+>|\w+(?:<[^*&]*>)?))")
_FLOAT = re.compile(r"\b(?:float|double|half|bfloat)\b")


def _nodes(node: dict) -> Iterator[dict]:
    """A node and all below it that were written in the text: what the compiler adds by itself is its own affair."""
    if not node or node.get("isImplicit"):
        return
    yield node
    for child in node.get("inner", ()):
        yield from _nodes(child)


def _type(node: dict) -> str:
    written = node.get("type", {})
    return f"{written.get('qualType', '')} | {written.get('desugaredQualType', '')}"


def _own_name(node: dict) -> str:
    return node.get("name") or node["kind"]


def broken_rules(text: str) -> list[str]:
    """The rules that a generated text breaks, one sentence each. Raises ValueError where it does not parse at all."""
    language, declarations = syntax_tree(text)
    found: list[str] = []
    calls: dict[str, set[str]] = {}
    names: dict[str, str] = {}
    first: dict[str, str] = {}
    for top in declarations:
        for node in _nodes(top):
            found += _kind_rules(node)
            if node["kind"] in ("FunctionDecl", "CXXMethodDecl"):
                # A definition may follow a declaration that others call.
                function = first[node["id"]] = first.get(node.get("previousDecl"), node["id"])
                names[function] = node["name"]
                calls.setdefault(function, set()).update(_called(node))
    calls = {function: {first.get(other, other) for other in called} for function, called in calls.items()}
    found += [
        f"{names[function]} calls itself, perhaps by way of others" for function in calls if _reaches(calls, function)
    ]
    taken = preamble_names() | METAL_WORDS | _declared(language)
    # A kernel's own name reaches Metal only with MLX's prefix and hash.
    own = {node["name"] for node in declarations if node.get("name") and not node.get("isImplicit")}
    found += [f"the name {name} is Metal's or the preamble's" for name in sorted(own & taken)]
    return list(dict.fromkeys(found))


def _called(function: dict) -> Iterator[str]:
    for node in _nodes(function):
        if node["kind"] == "DeclRefExpr" and node["referencedDecl"]["kind"] in ("FunctionDecl", "CXXMethodDecl"):
            yield node["referencedDecl"]["id"]
        elif "referencedMemberDecl" in node:
            yield node["referencedMemberDecl"]


def _declared(language: list[dict]) -> set[str]:
    inner = [node for space in language if space["kind"] == "NamespaceDecl" for node in space.get("inner", ())]
    return {node["name"] for node in (*language, *inner) if node.get("name")}


def _reaches(calls: dict[str, set[str]], start: str) -> bool:
    seen: set[str] = set()
    waiting = list(calls[start])
    while waiting:
        function = waiting.pop()
        if function == start:
            return True
        if function not in seen:
            seen.add(function)
            waiting += calls.get(function, ())
    return False


def _kind_rules(node: dict) -> Iterator[str]:
    kind, written = node["kind"], _type(node)
    if kind not in ALLOWED:
        yield f"{kind} is not among what kernels are made of"
    if _FLOAT.search(written):
        yield f"{_own_name(node)} is of a floating type: {written}"
    for word in _SPACED.findall(written):
        if word not in MEMORY_WORDS and not (kind == "FunctionDecl" or "dependent" in written):
            yield f"{_own_name(node)} keeps {word} in memory that holds 32-bit words only"
    if kind in ("VarDecl", "ParmVarDecl", "FieldDecl"):
        yield from _variable_rules(node, written)
    if node.get("virtual") or node.get("bases"):
        yield f"{_own_name(node)} is virtual or derived"
    if kind == "ForStmt":
        yield from _loop_rules(node)


def _variable_rules(node: dict, written: str) -> Iterator[str]:
    name = _own_name(node)
    if "__generic" in written:
        yield f"{name} points to no address space: {written}"
    if "(*" in written or "(&" in written:
        yield f"{name} is a pointer or reference to a function or an array: {written}"
    if node.get("storageClass"):
        yield f"{name} is {node['storageClass']}"
    # A local's type says __private; a variable of program scope must be constant, a threadgroup array is __local.
    if node["kind"] == "VarDecl" and not re.search(r"__(private|constant|local)|^auto|dependent", written):
        if not re.fullmatch(r"[\w<>, ]+(\[\w+\])* \| .*", written):
            yield f"{name} lies in no memory that a kernel has: {written}"


def _loop_rules(node: dict) -> Iterator[str]:
    """A loop's condition must compare something that its increment changes."""
    _, _, condition, increment, _ = (child or {} for child in node["inner"])
    comparisons = [part for part in _nodes(condition) if part.get("opcode") in ("<", "<=", ">", ">=")]
    compared = {name for part in comparisons for name in _variables(part)}
    stepping = ("UnaryOperator", "CompoundAssignOperator")
    changed = {name for part in _nodes(increment) if part["kind"] in stepping for name in _variables(part)}
    if not compared & changed:
        yield "a loop does not count: its condition compares nothing that its increment changes"


def _variables(node: dict) -> set[str]:
    return {child["referencedDecl"]["name"] for child in _nodes(node) if child["kind"] == "DeclRefExpr"}
