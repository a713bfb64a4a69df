"""How kernels are compiled: every body once, machine code only for those that Python calls.

Numba compiles a function that other compiled functions call as if Python called it, too: it optimises it, wraps it for
Python and makes machine code of it, all of which is thrown away, since the callers optimise it again as a part of
theirs. Arrays that go through it are counted in and out, field by field where they come in a NamedTuple. Of a first fit
this was more than half. Here

* a kernel that kernels call (`Body`) stops at LLVM's intermediate code, which its callers link in;
* a kernel that Python calls (`Kernel`) is a wrapper around its body, and all of it is optimised together, once;
* a body that allocates nothing and returns no array counts no references: its caller holds all that it is given.
"""

from collections.abc import Callable, Iterable
from typing import Any, cast

from numba.core import codegen, compiler, dispatcher, ir, registry, types, typed_passes
from numba.core.compiler_machinery import register_pass

OPTIONS = {"nopython": True, "nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}}
"""`fastmath` is limited to reassociation and contraction, which let sums vectorise: the full flag assumes that there
are no infinities, but constraints are written as −inf."""

# Numba has no types.
base: Any = registry.CPUDispatcher
library: Any = codegen.JITCodeLibrary
function_compiler: Any = dispatcher._FunctionCompiler
lowering: Any = typed_passes.NativeLowering
pipeline: Any = compiler.CompilerBase
passes: Any = compiler.DefaultPassBuilder


class Linkable(library):  # type: ignore[misc]
    """The intermediate code of a body and of all that it calls; no machine code is made of it."""

    def finalize(self) -> None:
        """Link in what is called."""
        for each in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(each._reload_init)
            self._final_module.link_in(each._get_module_for_linking(), preserve=True)
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class BodyLowering(lowering):  # type: ignore[misc]
    """From typed statements to intermediate code."""

    _name = "widemargin_body_lowering"

    def run_pass(self, state: Any) -> bool:
        """Count references only where something is allocated or returned."""
        made = [state.return_type, *(state.typemap[name] for name in _made(state.func_ir))]
        if not any(_holds_references(state.targetctx, each) for each in made):
            state.flags.nrt = state.targetctx.enable_nrt = False
        state.flags.no_compile = True
        state.library = Linkable(state.targetctx.codegen(), state.func_id.func_qualname)
        return bool(super().run_pass(state))


def _made(function: Any) -> Iterable[str]:
    """The variables whose values are not merely read from others."""
    reading = (
        "getattr",
        "static_getitem",
        "getitem",
        "typed_getitem",
        "exhaust_iter",
        "cast",
        "phi",
        "getiter",
        "iternext",
        "pair_first",
        "pair_second",
    )
    for block in function.blocks.values():
        for each in block.find_insts(ir.Assign):
            if isinstance(each.value, ir.Expr) and each.value.op not in reading:
                yield each.target.name


def _holds_references(context: Any, kind: Any) -> bool:
    return bool(context.data_model_manager[kind].contains_nrt_meminfo())


class BodyPipeline(pipeline):  # type: ignore[misc]
    """Numba's passes, up to intermediate code."""

    def define_pipelines(self) -> list[Any]:
        """The passes, with ours before code is made."""
        manager = compiler.PassManager("kernel")
        manager.passes += passes.define_untyped_pipeline(self.state).passes
        manager.passes += passes.define_typed_pipeline(self.state).passes
        manager.add_pass(typed_passes.NoPythonSupportedFeatureValidation, "refuse what cannot be compiled")
        manager.add_pass(typed_passes.IRLegalization, "delete variables after their last use")
        manager.add_pass(BodyLowering, "make intermediate code")
        manager.add_pass(typed_passes.NoPythonBackend, "collect the result")
        manager.finalize()
        return [manager]


class Body(base):  # type: ignore[misc]
    """A kernel as other kernels call it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        options = OPTIONS | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        super().__init__(function, targetoptions=options, pipeline_class=BodyPipeline)

    def add_overload(self, cres: Any) -> None:
        """Tell callers where to find the code for some types; there is nothing that Python could call."""
        body = cres._replace(entry_point=object())
        self.targetctx.insert_user_function(body.entry_point, body.fndesc, [body.library])
        self.overloads[tuple(body.signature.args)] = body


class KernelCompiler(function_compiler):  # type: ignore[misc]
    """Wraps bodies for Python."""

    body: Body

    def compile(self, args: Any, return_type: Any) -> Any:
        """Machine code for these types."""
        self.body.compile(args)
        body = self.body.overloads[args]
        context = body.target_context
        linked = context.codegen().create_library(body.fndesc.qualname)
        linked.enable_object_caching()
        linked.add_linking_library(body.library)
        context.create_cpython_wrapper(linked, body.fndesc, body.environment, body.call_helper, release_gil=True)
        entry = context.get_executable(linked, body.fndesc, body.environment)
        return body._replace(library=linked, entry_point=entry, metadata={})


class Kernel(base):  # type: ignore[misc]
    """A kernel as Python calls it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function, targetoptions=OPTIONS)
        self._compiler = KernelCompiler(function, self.targetdescr, OPTIONS, {}, None)
        self._compiler.body = self.body = Body(function)

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self.body)
