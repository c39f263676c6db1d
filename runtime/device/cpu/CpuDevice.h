// The CPU as a device: both memories are arenas of the process, kernels run on
// one thread team.
#pragma once

#include "runtime/base/ThreadTeam.h"
#include "runtime/device/Device.h"

namespace spillway {

/// `team` outlives the device. At most one stream that launches is used at a
/// time; the thread that uses it is the team's caller.
std::unique_ptr<Device> createCpuDevice(ThreadTeam &team);

} // namespace spillway
