#include "runtime/session/Session.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/io/ThrottledEngine.h"

#include <algorithm>

namespace spillway {

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
  SPILLWAY_ASSIGN_OR_RETURN(store_, Store::parse(bundle_.storeIndex(), bundle_.folder()));
  self_ = createSelfCommunicator();
  Communicator &communicator = options.communicator ? *options.communicator : *self_;
  SPILLWAY_ASSIGN_OR_RETURN(program_,
                            Program::parse(bundle_.table(), store_, communicator.rank()));
  unsigned threads =
      options.threads.value_or(std::min<unsigned>(program_.threads, availableProcessors()));
  if (threads == 0 || threads > program_.threads)
    return userError("{} threads were asked for; the model was compiled for 1 to {}", threads,
                     program_.threads);
  if (!options.replay) {
    SPILLWAY_ASSIGN_OR_RETURN(KernelLibrary kernels,
                              KernelLibrary::load(bundle_.kernels(), program_.kernels));
    kernels_.emplace(std::move(kernels));
  }
  SPILLWAY_ASSIGN_OR_RETURN(engine_, io::makeEngine(options.engine));
  if (options.readBytesPerSecond > 0)
    engine_ = std::make_unique<io::ThrottledEngine>(
        std::move(engine_), io::Throttle{.readBytesPerSecond = options.readBytesPerSecond});
  if (options.fault)
    engine_ = std::make_unique<io::FailingEngine>(std::move(engine_), *options.fault);
  SPILLWAY_ASSIGN_OR_RETURN(team_, ThreadTeam::create(threads));
  device_ = createCpuDevice(*team_);
  SPILLWAY_ASSIGN_OR_RETURN(executor_,
                            Executor::create({program_, store_, *device_, communicator, *engine_,
                                              kernels_ ? std::span(kernels_->functions())
                                                       : std::span<const KernelFunction>()}));
  return {};
}

} // namespace spillway
