// RUN: spillway-opt %s | spillway-opt | FileCheck %s
// RUN: spillway-opt %s --mlir-print-op-generic | spillway-opt | FileCheck %s

zero.state @w "w" : tensor<64x32xf32> role(<parameter>) layout(<1>) source(#zero.splat<0.0 : f32>)
zero.state @s "s" : tensor<1024xf32> role(<parameter>) rewritten source(#zero.splat<0.0 : f32>)
zero.state @e "e" : tensor<10x64xf32> role(<parameter>) source(#zero.splat<0.0 : f32>)
nn.kernel private @gemm(tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<1024xf32>
    attributes {schedule = #nn.schedule<map>, units = 2 : i64, scratch = 0 : i64, cost = #nn.cost<1, 1>}
nn.kernel private @k(tensor<2048xf32>) -> tensor<1024xf32>
    attributes {schedule = #nn.schedule<map>, units = 2 : i64, scratch = 0 : i64, cost = #nn.cost<1, 1>}

// CHECK: rt.program @main ranks(1) threads(2) {
rt.program @main ranks(1) threads(2) {
  // CHECK: rt.arena host 65536
  rt.arena host 65536
  // CHECK: rt.arena device 32768
  rt.arena device 32768
  // CHECK: %[[IDS:.+]] = rt.buffer "ids" host[0, 64]
  %ids = rt.buffer "ids" host[0, 64]
  %x = rt.buffer "x" host[64, 2048]
  %y = rt.buffer "y" host[2112, 1024]
  %scratch = rt.buffer "scratch" host[3136, 128]
  %staging = rt.buffer "e" host[4096, 4096]
  %w0 = rt.buffer "w" host[8192, 4096]
  %w1 = rt.buffer "w" device[0, 4096]
  %all = rt.buffer "e" host[16384, 4096]
  %x2 = rt.buffer "gathered" host[32768, 2048]
  // CHECK: rt.buffer "part" host[36864, 64] rank_stride 64
  %part = rt.buffer "part" host[36864, 64] rank_stride 64
  // CHECK: rt.input "ids" %[[IDS]] "i64" [8]
  rt.input "ids" %ids "i64" [8]
  // CHECK: rt.output "y" %{{.+}} "f32" [8, 32]
  rt.output "y" %y "f32" [8, 32]
  // CHECK: rt.prologue {
  rt.prologue {
    // CHECK-NEXT: %[[R:.+]] = rt.read @e[0] into %{{.+}} label "e"
    %0 = rt.read @e[0] into %all label "e"
  }
  // CHECK: rt.step {
  rt.step {
    // CHECK-NEXT: %[[A:.+]] = rt.read @w[4096] rank_stride 64 into %[[W0:.+]] label "w"
    %0 = rt.read @w[4096] rank_stride 64 into %w0 label "w"
    // CHECK-NEXT: %[[B:.+]] = rt.copy %[[W0]] into %[[W1:.+]] on copy_up after(%[[A]])
    %1 = rt.copy %w0 into %w1 on copy_up after(%0)
    // CHECK-NEXT: %[[C:.+]] = rt.lookup @e[%[[IDS]] "i64"] into %[[X:.+]] staging %{{.+}} label "gather"
    %2 = rt.lookup @e[%ids "i64"] into %x staging %staging label "gather"
    // CHECK-NEXT: %[[D:.+]] = rt.launch @gemm(%[[X]], %[[W1]]) into(%{{.+}}) units [1, 2] origins [0, 1, 0] scratch %{{.+}} per_thread 64 after(%[[B]], %[[C]]) label "matmul"
    %3 = rt.launch @gemm(%x, %w1) into (%y) units [1, 2] origins [0, 1, 0] scratch %scratch per_thread 64 after(%1, %2) label "matmul"
    // CHECK-NEXT: rt.lookup @e[%[[IDS]] "i64"] into %[[X]] resident %{{.+}} after(%[[D]])
    %4 = rt.lookup @e[%ids "i64"] into %x resident %all after(%3)
    // CHECK-NEXT: rt.all_gather %[[X]] into %{{.+}} after(%{{.+}})
    %5 = rt.all_gather %x into %x2 after(%4)
  }
}

// Two ranks gather in place: each has read its own part to where it belongs.
// CHECK: rt.program @ranks ranks(2) threads(1) {
rt.program @ranks ranks(2) threads(1) {
  rt.arena host 16384
  %own = rt.buffer "w" host[0, 4096] rank_stride 4096
  %all = rt.buffer "w" host[0, 8192]
  %y = rt.buffer "y" host[8192, 4096]
  rt.output "y" %y "f32" [1024]
  rt.prologue {
  }
  rt.step {
    // CHECK: %[[R:.+]] = rt.read @w[0] rank_stride 4096 into %{{.+}}
    %0 = rt.read @w[0] rank_stride 4096 into %own
    // CHECK-NEXT: rt.all_gather %{{.+}} into %{{.+}} after(%[[R]])
    %1 = rt.all_gather %own into %all after(%0)
    %2 = rt.launch @k(%all) into (%y) units [0, 1] after(%1)
  }
}

// A value waits on the drive.
// CHECK: rt.program @waiting ranks(1) threads(1) {
rt.program @waiting ranks(1) threads(1) {
  rt.arena host 16384
  // CHECK: rt.arena nvme 8192
  rt.arena nvme 8192
  %x = rt.buffer "x" host[0, 4096]
  %y = rt.buffer "x" host[4096, 4096]
  // CHECK: %[[S:.+]] = rt.buffer "x" nvme[4096, 4096]
  %s = rt.buffer "x" nvme[4096, 4096]
  rt.input "x" %x "f32" [1024]
  rt.output "y" %y "f32" [1024]
  rt.prologue {
  }
  rt.step {
    // CHECK: %[[A:.+]] = rt.copy %{{.+}} into %[[S]] on write
    %0 = rt.copy %x into %s on write
    // CHECK-NEXT: %[[B:.+]] = rt.copy %[[S]] into %{{.+}} on read after(%[[A]])
    %1 = rt.copy %s into %y on read after(%0)
    // CHECK-NEXT: rt.launch @k
    %2 = rt.launch @k(%y) into (%x) units [0, 1] after(%1)
  }
}

// The next step reads what this one still writes, into the bytes that it is written from, when it has been written.
// CHECK: rt.program @carried ranks(1) threads(1) {
rt.program @carried ranks(1) threads(1) {
  rt.arena host 8192
  %s = rt.buffer "s" host[0, 4096]
  rt.prologue {
  }
  // CHECK: rt.step {
  rt.step {
  // CHECK-NEXT: ^bb0(%[[BEFORE:.+]]: !rt.event):
  ^bb0(%before: !rt.event):
    // CHECK-NEXT: rt.read @s[0] into %[[S:.+]] after(%[[BEFORE]])
    %0 = rt.read @s[0] into %s after(%before)
    // CHECK-NEXT: %[[W:.+]] = rt.write %[[S]] into @s[0]
    %1 = rt.write %s into @s[0] after(%0)
    // CHECK-NEXT: rt.carry %[[W]]
    rt.carry %1
  }
}
