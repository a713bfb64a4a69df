"""How kernels are compiled: every body once, machine code only for those that Python calls.

Numba compiles a function that other compiled functions call as if Python called it, too: it optimises the function,
wraps it for Python and makes machine code. All of this is thrown away, since the callers optimise it again as a part of
their own code. References to its arrays are counted, too, field by field for a NamedTuple. This took more than half of
a first fit. Here

* a kernel that kernels call (`Body`) stops at LLVM's intermediate code, which its callers link in;
* a kernel that Python calls (`Kernel`) is a wrapper around its body, and all of it is optimised together, once;
* a body counts no references to its arguments and their parts: its caller holds all that it is given.

All this leans on names that Numba calls its own, so `_jit` tries it first and takes `_plain` where it does not work.
"""

from collections.abc import Callable, Container, Set
from functools import cached_property, partial
from typing import Any

from numba.core import compiler, dispatcher, ir, lowering, pythonapi, types
from numba.core import typed_passes as passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_machinery import register_pass
from numba.core.registry import CPUDispatcher
from numba.core.runtime import nrt
from numba.core.runtime.context import NRTContext

from widemargin._plain import OPTIONS


class Linkable(JITCodeLibrary):  # type: ignore[misc]
    """The intermediate code of a function and of all that it calls; no machine code is made of it."""

    def finalize(self) -> None:
        """Link in what is called."""
        for each in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(each._reload_init)
            self._final_module.link_in(each._get_module_for_linking(), preserve=True)
        self._finalized = True


class References(NRTContext):  # type: ignore[misc]
    """Counts references, but not those of the `borrowed` variables of a body."""

    def __init__(self, context: Any, borrowed: Container[str]) -> None:
        super().__init__(context, True)
        self.borrowed, self.silent = borrowed, False

    def _call_incref_decref(self, builder: Any, typ: Any, value: Any, funcname: str) -> None:
        if not self.silent:
            super()._call_incref_decref(builder, typ, value, funcname)


class Lower(lowering.Lower):  # type: ignore[misc]
    """Makes intermediate code, statement by statement."""

    def lower_inst(self, inst: Any) -> None:
        """Neither the assignment of a borrowed variable nor its deletion counts."""
        name = inst.target.name if isinstance(inst, ir.Assign) else inst.value if isinstance(inst, ir.Del) else None
        counting = self.context.nrt
        counting.silent = name in counting.borrowed
        super().lower_inst(inst)
        counting.silent = False


@register_pass(mutates_CFG=True, analysis_only=False)
class BodyLowering(passes.NativeLowering):  # type: ignore[misc]
    """From typed statements to intermediate code."""

    _name = "widemargin_body_lowering"
    lowering_class = Lower

    def run_pass(self, state: Any) -> bool:
        """Make the code; references are counted only if a variable owns some."""
        context = state.targetctx
        counted = {name for name, kind in state.typemap.items() if _holds_references(context, kind)}
        counted.difference_update(name for name in state.typemap if name.startswith("arg."))
        borrowed = _borrowed(state.func_ir, state.typemap, counted)
        context.nrt = References(context, borrowed)
        if counted == borrowed:
            state.flags.nrt = context.enable_nrt = False
        state.flags.no_compile = True
        state.library = Linkable(context.codegen(), state.func_id.func_qualname)
        return bool(super().run_pass(state))


def _holds_references(context: Any, kind: Any) -> bool:
    try:
        return bool(context.data_model_manager[kind].contains_nrt_meminfo())
    except NotImplementedError:  # a type of no values
        return False


def _borrowed(function: Any, typemap: Any, counted: Set[str]) -> set[str]:
    """The variables among `counted` that never hold anything but what others hold meanwhile.

    Some only ever hold arguments and parts of arguments, which the caller holds as long as the body runs. Others are
    parts of variables that stay as they are until the part is deleted, a few statements later. What is returned is not
    borrowed: the caller gets a reference.
    """
    assigned: dict[str, list[Any]] = {name: [] for name in counted}
    for block in function.blocks.values():
        for each in block.find_insts(ir.Assign):
            if each.target.name in counted:
                assigned[each.target.name].append(each.value)
    once = {name for name, values in assigned.items() if len(values) == 1}
    for block in function.blocks.values():
        for each in block.find_insts(ir.Return):
            assigned.pop(each.value.name, None)
    while True:
        owned = [
            name
            for name, values in assigned.items()
            if not all(_is_borrowed(each, typemap, counted, assigned) for each in values)
        ]
        if not owned:
            break
        for name in owned:
            del assigned[name]
    found = set(assigned)
    for block in function.blocks.values():
        found |= _borrowed_within(block, typemap, counted, once - found)
    return found


READING = {"getattr", "getitem", "static_getitem", "exhaust_iter", "cast", "getiter", "iternext", "pair_first"}
READABLE = (types.Array, types.BaseTuple, types.ArrayIterator, types.Pair)


def _is_borrowed(value: Any, typemap: Any, counted: Container[str], borrowed: Container[str]) -> bool:
    """Whether a value is an argument, a constant, or a part of borrowed variables."""
    if isinstance(value, ir.Arg | ir.Const | ir.Global | ir.FreeVar):
        return True
    if isinstance(value, ir.Var):
        return value.name in borrowed
    if value.op == "build_tuple":
        return all(each.name in borrowed for each in value.items if each.name in counted)
    if value.op not in READING:
        return value.op in ("null", "undef")
    return value.value.name in borrowed and _is_part(value, typemap, counted)


def _is_part(value: Any, typemap: Any, counted: Container[str]) -> bool:
    """Whether what is read is a part of the whole: an index with arrays makes a new array."""
    by_arrays = value.op == "getitem" and value.index.name in counted
    return isinstance(typemap[value.value.name], READABLE) and not by_arrays


def _borrowed_within(block: Any, typemap: Any, counted: Container[str], once: Container[str]) -> set[str]:
    """The parts that a block reads and deletes, while it neither assigns nor deletes the whole.

    The parts are variables that are assigned `once`.
    """
    found, open_parts = set[str](), dict[str, str]()  # the whole of each part that is not deleted yet
    for each in block.body:
        if isinstance(each, ir.Del) and each.value in open_parts:
            found.add(each.value)
            del open_parts[each.value]
            continue
        changed = each.target.name if isinstance(each, ir.Assign) else each.value if isinstance(each, ir.Del) else None
        open_parts = {part: whole for part, whole in open_parts.items() if whole != changed}
        reads = isinstance(each, ir.Assign) and isinstance(each.value, ir.Expr) and each.value.op in READING
        if reads and each.target.name in once and _is_part(each.value, typemap, counted):
            whole = each.value.value.name
            open_parts[each.target.name] = open_parts.get(whole, whole)
    return found


class BodyPipeline(compiler.CompilerBase):  # type: ignore[misc]
    """Numba's passes, up to intermediate code."""

    def define_pipelines(self) -> list[Any]:
        """The passes, with ours before code is made."""
        manager = compiler.PassManager("kernel")
        manager.passes += compiler.DefaultPassBuilder.define_untyped_pipeline(self.state).passes
        manager.passes += compiler.DefaultPassBuilder.define_typed_pipeline(self.state).passes
        manager.add_pass(passes.NoPythonSupportedFeatureValidation, "refuse what cannot be compiled")
        manager.add_pass(passes.IRLegalization, "delete variables after their last use")
        manager.add_pass(BodyLowering, "make intermediate code")
        manager.add_pass(passes.NoPythonBackend, "collect the result")
        manager.finalize()
        return [manager]


class Body(CPUDispatcher):  # type: ignore[misc]
    """A kernel as other kernels call it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        options = OPTIONS | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        super().__init__(function, targetoptions=options, pipeline_class=BodyPipeline)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """The types to call it with; every whole number is passed as int64, so that one version serves them all."""
        _, folded = self.fold_argument_types(args, kws)
        return super().get_call_template(tuple(map(_widen, folded)), {})

    def compile(self, sig: Any) -> None:
        """Compile the body for some types, and tell callers where to find it."""
        if sig not in self.overloads:
            with self._compiling_counter:
                body = self._compiler.compile(sig, None)._replace(entry_point=object())
            self.targetctx.insert_user_function(body.entry_point, body.fndesc, [body.library])
            self.overloads[sig] = body


def _widen(kind: Any) -> Any:
    """The type without a known value; int64 for narrower ones."""
    kind = types.unliteral(kind)
    return types.int64 if isinstance(kind, types.Integer) and kind.signed else kind


class Interface(pythonapi.PythonAPI):  # type: ignore[misc]
    """How wrappers call Python: classes of results are constants of theirs, not unpickled for every array returned."""

    def get_env_manager(self, *given: Any) -> Any:
        """The constants of the wrapper."""
        self.constants = super().get_env_manager(*given)
        return self.constants

    def serialize_object(self, obj: Any) -> Any:
        """Classes are kept as they are."""
        return obj if isinstance(obj, type) else super().serialize_object(obj)

    def unserialize(self, structptr: Any) -> Any:
        """A new reference to the object."""
        if not isinstance(structptr, type):
            return super().unserialize(structptr)
        found = self.constants.read_const(self.constants.add_const(structptr))
        self.incref(found)
        return found


class KernelCompiler(dispatcher._FunctionCompiler):  # type: ignore[misc]
    """Wraps bodies for Python."""

    @cached_property
    def body(self) -> Body:
        """The kernel as other kernels call it, made when the first of them is compiled."""
        return Body(self.py_func)

    def compile(self, args: Any, return_type: Any) -> Any:
        """Machine code for these types."""
        self.body.compile(args)
        body = self.body.overloads[args]
        context = body.target_context  # as the body, the wrapper counts references or not
        if context.enable_nrt:
            context.nrt = NRTContext(context, True)  # but all of them: it holds what it hands over, and lets go of it
        context.get_python_api = partial(Interface, context)
        linked = context.codegen().create_library(body.fndesc.qualname)
        linked.enable_object_caching()
        linked.add_linking_library(body.library)
        context.create_cpython_wrapper(linked, body.fndesc, body.environment, body.call_helper, release_gil=True)
        entry = context.get_executable(linked, body.fndesc, body.environment)
        return body._replace(library=linked, entry_point=entry, metadata={})


class Kernel(CPUDispatcher):  # type: ignore[misc]
    """A kernel as Python calls it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function, targetoptions=OPTIONS)
        self._compiler = KernelCompiler(function, self.targetdescr, OPTIONS, {}, None)

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self._compiler.body)


def compile_kernel(function: Callable[..., Any]) -> Any:
    """The kernel of a function."""
    return Kernel(function)


def pack(result: Any) -> tuple[Any, ...]:
    """The stored form of a compiled kernel: its machine code, and the constants of functions that it calls."""
    result.fndesc.typemap = result.fndesc.calltypes = None  # large, and needed for compiling only
    constants = [each for each in result._find_referenced_environments() if each.consts]
    code = result.library._get_compiled_object()
    return code, result.fndesc, result.environment, result.signature, constants


def unpack(context: Any, code: bytes, fndesc: Any, environment: Any, signature: Any, constants: list[Any]) -> Any:
    """A kernel made ready to be called.

    Numba's own way also reads and scans intermediate code, for functions that call this one: ours call bodies instead.
    """
    nrt.rtsys.initialize(context)  # all that compiled code needs; compiling needs much more, such as SciPy
    library = context.codegen().create_library(fndesc.qualname)
    library.enable_object_caching()
    library._set_compiled_object(code)
    library._finalize_final_module()
    library.codegen._engine._defined_symbols.add(fndesc.llvm_cpython_wrapper_name)
    for each in constants:
        library.codegen.set_env(each.env_name, each)
    return compiler.compile_result(
        target_context=context,
        typing_context=context.typing_context,
        library=library,
        environment=environment,
        entry_point=context.get_executable(library, fndesc, environment),
        fndesc=fndesc,
        signature=signature,
        objectmode=False,
    )
