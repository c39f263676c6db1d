#include "runtime/session/Session.h"
#include "runtime/device/cpu/CpuDevice.h"

#include <algorithm>

namespace spillway {

namespace {
Result<std::unique_ptr<io::Engine>> makeEngine(const SessionOptions &options,
                                               const std::optional<io::Fault> &fault) {
  SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<io::Engine> engine, io::makeEngine(options.engine));
  if (options.throttle.readBytesPerSecond > 0 || options.throttle.writeBytesPerSecond > 0)
    engine = std::make_unique<io::ThrottledEngine>(std::move(engine), options.throttle);
  if (fault)
    engine = std::make_unique<io::FailingEngine>(std::move(engine), *fault);
  return engine;
}
} // namespace

Result<std::unique_ptr<Session>> Session::open(const std::filesystem::path &folder,
                                               const SessionOptions &options) {
  SPILLWAY_ASSIGN_OR_RETURN(Bundle bundle, Bundle::open(folder));
  return open(std::move(bundle), options);
}

Result<std::unique_ptr<Session>> Session::open(Bundle bundle, const SessionOptions &options) {
  SPILLWAY_RETURN_IF_ERROR(bundle.requireProcessor());
  std::unique_ptr<Session> session(new Session(std::move(bundle)));
  SPILLWAY_RETURN_IF_ERROR(session->initialise(options));
  return session;
}

Status Session::initialise(const SessionOptions &options) {
  SPILLWAY_ASSIGN_OR_RETURN(lock_, lockStates(bundle_.folder(), options.writable
                                                                    ? FileLock::exclusive
                                                                    : FileLock::shared));
  SPILLWAY_RETURN_IF_ERROR(bundle_.requireUnchanged());
  SPILLWAY_ASSIGN_OR_RETURN(store_, Store::parse(bundle_.storeIndex(), bundle_.folder()));
  self_ = createSelfCommunicator();
  Communicator &communicator = options.communicator ? *options.communicator : *self_;
  SPILLWAY_ASSIGN_OR_RETURN(program_, Program::parse(bundle_.table(), store_, communicator.rank()));
  unsigned threads =
      options.threads.value_or(std::min<unsigned>(program_.threads, availableProcessors()));
  if (threads == 0 || threads > program_.threads)
    return userError("{} threads were asked for; '{}' was planned for 1 to {}, and `spillway replan {} "
                     "--threads {}` plans for more",
                     threads, bundle_.folder().string(), program_.threads,
                     bundle_.folder().string(), threads);
  if (program_.writesStates() && !options.writable)
    return userError("'{}' was compiled to train: its step rewrites the model's states. Use "
                     "`spillway train`",
                     bundle_.folder().string());
  if (!program_.writesStates() && options.writable)
    return userError("'{}' was not compiled to train: compile it with --train",
                     bundle_.folder().string());
  if (options.writable && program_.ranks > 1)
    return userError("'{}' is for {} ranks; only a bundle for one can be trained",
                     bundle_.folder().string(), program_.ranks);
  if (!options.replay) {
    SPILLWAY_ASSIGN_OR_RETURN(KernelLibrary kernels,
                              KernelLibrary::load(bundle_.kernels(), program_.kernels));
    kernels_.emplace(std::move(kernels));
  }
  SPILLWAY_ASSIGN_OR_RETURN(readEngine_, makeEngine(options, options.readFault));
  if (program_.writesStates()) {
    SPILLWAY_ASSIGN_OR_RETURN(writeEngine_, makeEngine(options, options.writeFault));
  }
  SPILLWAY_ASSIGN_OR_RETURN(team_, ThreadTeam::create(threads));
  device_ = createCpuDevice(*team_);
  SPILLWAY_ASSIGN_OR_RETURN(
      executor_, Executor::create({.program = program_,
                                   .store = store_,
                                   .device = *device_,
                                   .communicator = communicator,
                                   .engine = *readEngine_,
                                   .kernels = kernels_ ? std::span(kernels_->functions())
                                                       : std::span<const KernelFunction>(),
                                   .writeEngine = writeEngine_.get()}));
  return {};
}

} // namespace spillway
