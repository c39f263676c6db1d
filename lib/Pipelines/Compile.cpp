#include "spillway/Pipelines/Compile.h"

#include "spillway/Pipelines/Pipelines.h"
#include "spillway/Plan/Report.h"
#include "spillway/Support/Errors.h"
#include "spillway/Target/Bundle/BundleWriter.h"
#include "spillway/Target/CPU/CompileKernels.h"
#include "spillway/Transforms/Passes.h"

#include "runtime/base/File.h"
#include "runtime/bundle/Bundle.h"
#include "runtime/state/Store.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace spillway;

namespace {

constexpr std::pair<StringLiteral, Form> formNames[] = {
    {"onnx", Form::onnx}, {"operations", Form::operations}, {"kernels", Form::kernels}};

/// With locations: they hold the names of the model's nodes.
LogicalResult writeText(ModuleOp module, const std::string &path) {
  std::error_code code;
  llvm::raw_fd_ostream stream(path, code);
  if (!code) {
    module.print(stream, OpPrintingFlags().enableDebugInfo());
    stream << '\n';
    stream.flush();
    code = stream.error();
    stream.clear_error();
  }
  if (code)
    return emitMachineError(module.getLoc(), "write '" + path + "'", code);
  return success();
}

LogicalResult dump(ModuleOp module, StringRef name, const std::string &folder) {
  return folder.empty() ? success() : writeText(module, folder + "/" + name.str() + ".mlir");
}

LogicalResult run(ModuleOp module, llvm::function_ref<void(OpPassManager &)> build) {
  PassManager passes(module.getContext());
  build(passes);
  return passes.run(module);
}

ArrayRef<uint8_t> bytesOf(StringRef text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

/// The program as `replan` reads it.
LogicalResult writeProgram(ModuleOp module, BundleWriter &bundle) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (failed(writeBytecodeToFile(module, stream)))
    return failure();
  return bundle.writeFile(programName, bytesOf(text));
}

/// On a module, the path of the file that it was imported from, absolute.
constexpr StringLiteral modelAttrName = "spillway.model";

std::string modelPath(ModuleOp module) {
  auto path = module->getAttrOfType<StringAttr>(modelAttrName);
  return path ? path.str() : "unknown";
}

/// Initializers whose values are another model's.
std::vector<std::string> initializedNames(ModuleOp module) {
  std::vector<std::string> names;
  if (auto attr = module->getAttrOfType<ArrayAttr>(initializedAttrName))
    for (auto name : attr.getAsRange<StringAttr>())
      names.push_back(name.str());
  return names;
}

/// Plans the module in place and writes what depends on the plan.
LogicalResult writePlan(ModuleOp module, const PlanOptions &options, BundleWriter &bundle) {
  FailureOr<PlannedProgram> planned = planProgram(module, options);
  if (failed(planned) || failed(bundle.writeFile(tableName, planned->table)) ||
      failed(bundle.writeFile(planName, bytesOf(planned->summary))))
    return failure();
  if (options.report.empty())
    return success();
  std::string page = plan::drawReport(modelPath(module), planned->table, planned->simulation,
                                      planned->summary);
  Status status = requireOutsideBundles(options.report);
  if (status.ok())
    status = writeFileAtomically(options.report, std::as_bytes(std::span(page)));
  if (!status.ok())
    return spillway::emitError(module.getLoc(), status.error());
  return success();
}

OwningOpRef<ModuleOp> readForm(const CompileOptions &options, MLIRContext &context) {
  if (options.from != Form::model)
    return parseSourceFile<ModuleOp>(options.model, &context);
  OwningOpRef<ModuleOp> module = importOnnx(options.model, context, options.import);
  std::error_code code;
  if (std::filesystem::path path = std::filesystem::absolute(options.model, code); module && !code)
    (*module)->setAttr(modelAttrName, StringAttr::get(&context, path.lexically_normal().string()));
  return module;
}

/// To the form that follows `form`.
LogicalResult advance(ModuleOp module, Form form, const CompileOptions &options) {
  switch (form) {
  case Form::onnx:
    return run(module, [&](OpPassManager &passes) {
      buildOperationPipeline(passes, options.operations);
    });
  case Form::operations:
    return run(module,
               [&](OpPassManager &passes) { buildKernelPipeline(passes, options.linkWeights); });
  default:
    llvm_unreachable("no pipeline leads from this form to another");
  }
}

LogicalResult runExtraPasses(ModuleOp module, StringRef name, Form form,
                             ArrayRef<ExtraPasses> extra) {
  PassManager passes(module.getContext(), ModuleOp::getOperationName());
  for (const auto &[after, pipeline] : extra) {
    std::string error;
    llvm::raw_string_ostream stream(error);
    if (after == form && failed(parsePassPipeline(pipeline, passes, stream)))
      return emitError(module.getLoc())
             << "passes after " << name << ", '" << pipeline << "': " << error;
  }
  return passes.empty() ? success() : passes.run(module);
}

LogicalResult writeBundle(ModuleOp module, const CompileOptions &options) {
  FailureOr<BundleWriter> bundle = BundleWriter::create(options.output, module.getLoc());
  if (failed(bundle) || failed(bundle->requireSpace(module)))
    return failure();
  // Planned before code is generated: a budget that is too small is found at once.
  options.onStage("planning");
  OwningOpRef<ModuleOp> planned = module.clone();
  if (failed(run(*planned, [](OpPassManager &passes) { passes.addPass(createNNDropBodiesPass()); })) ||
      failed(dump(*planned, "program", options.dumpFolder)) ||
      failed(writeProgram(*planned, *bundle)) || failed(writePlan(*planned, options.plan, *bundle)) ||
      failed(dump(*planned, "rt", options.dumpFolder)))
    return failure();
  options.onStage("generating code");
  if (failed(compileKernels(module, options.target, (bundle->folder() / kernelsName).string())))
    return failure();
  options.onStage("packing weights");
  if (failed(bundle->writeStates(*planned)))
    return failure();
  return bundle->commit({.producer = "spillway",
                         .model = modelPath(module),
                         .initialized = initializedNames(module),
                         .features = options.target.features(),
                         .threads = static_cast<uint32_t>(options.plan.threads),
                         .ranks = static_cast<uint32_t>(options.plan.ranks)});
}

} // namespace

std::optional<Form> spillway::formFromName(StringRef name) {
  for (auto [known, form] : formNames)
    if (name == known)
      return form;
  return std::nullopt;
}

LogicalResult spillway::compileModel(const CompileOptions &options, MLIRContext &context) {
  options.onStage("reading the model");
  OwningOpRef<ModuleOp> module = readForm(options, context);
  if (!module)
    return failure();
  Form form = options.from == Form::model ? Form::onnx : options.from;
  for (auto [name, reached] : formNames) {
    if (reached < form || reached > options.to)
      continue;
    if (reached > form)
      options.onStage(reached == Form::operations ? "converting" : "forming kernels");
    if (reached > form && failed(advance(*module, std::exchange(form, reached), options)))
      return failure();
    if (failed(runExtraPasses(*module, name, reached, options.passes)) ||
        failed(dump(*module, name, options.dumpFolder)))
      return failure();
  }
  return options.to == Form::bundle ? writeBundle(*module, options)
                                    : writeText(*module, options.output);
}

namespace {

/// A bundle, with the program that its plans are made of.
struct ProgramOfBundle {
  Bundle bundle;
  OwningOpRef<ModuleOp> module;
};

FailureOr<ProgramOfBundle> openProgram(const std::string &path, Location location, MLIRContext &context) {
  Result<Bundle> bundle = Bundle::open(path);
  if (!bundle.ok())
    return spillway::emitError(location, bundle.error());
  Result<std::vector<std::byte>> program = bundle->read(programName);
  if (!program.ok())
    return spillway::emitError(location, program.error());
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      StringRef(reinterpret_cast<const char *>(program->data()), program->size()), &context);
  if (!module)
    return emitError(location) << "has no program to plan";
  return ProgramOfBundle{*std::move(bundle), std::move(module)};
}

} // namespace

FailureOr<PlannedProgram> spillway::planBundle(const std::string &path, const PlanOptions &plan, MLIRContext &context) {
  FailureOr<ProgramOfBundle> program = openProgram(path, NameLoc::get(StringAttr::get(&context, path)), context);
  if (failed(program))
    return failure();
  return planProgram(*program->module, plan);
}

LogicalResult spillway::replanBundle(const std::string &path, const std::string &output,
                                     const PlanOptions &plan, MLIRContext &context) {
  Location location = NameLoc::get(StringAttr::get(&context, path));
  FailureOr<ProgramOfBundle> old = openProgram(path, location, context);
  if (failed(old))
    return failure();
  std::filesystem::path folder = old->bundle.folder();
  FailureOr<BundleWriter> bundle = BundleWriter::create(output, location);
  if (failed(bundle))
    return failure();
  // Nobody trains the states while they are copied; where the result takes the place of their
  // bundle, the writer sees to it.
  std::error_code code;
  std::optional<FileLock> lock;
  if (!std::filesystem::equivalent(folder / commitsName, std::filesystem::path(output) / commitsName, code)) {
    Result<std::optional<FileLock>> locked = lockStates(folder, FileLock::shared);
    if (!locked.ok())
      return spillway::emitError(location, locked.error());
    lock = std::move(*locked);
  }
  if (Result<Store> store = Store::parse(old->bundle.storeIndex(), folder); !store.ok())
    return spillway::emitError(location, store.error());
  for (std::string_view name : {kernelsName, programName, storeIndexName})
    if (failed(bundle->shareFile(folder / name)))
      return failure();
  // What training writes is each bundle's own, unless this one takes the other's place.
  bool trains = std::filesystem::exists(folder / commitsName, code);
  bool shares = !trains || std::filesystem::equivalent(folder, output, code);
  for (std::string_view name : {storeDataName, commitsName})
    if ((name == storeDataName || trains) &&
        failed(shares ? bundle->shareFile(folder / name) : bundle->copyFile(folder / name)))
      return failure();
  if (failed(writePlan(*old->module, plan, *bundle)))
    return failure();
  Manifest manifest = old->bundle.manifest();
  manifest.threads = static_cast<uint32_t>(plan.threads);
  manifest.ranks = static_cast<uint32_t>(plan.ranks);
  return bundle->commit(manifest);
}
