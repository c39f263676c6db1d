// New values of states are computed over the old ones by one kernel, after the product that gives the gradient where
// an element of them needs no other; they go home by tile.
// RUN: spillway-opt %s -pass-pipeline='builtin.module(nn-assign-layouts,nn-form-kernels)' | FileCheck %s
// RUN: spillway-opt %s -pass-pipeline='builtin.module(nn-assign-layouts,nn-form-kernels,zero-plan{memory=24576},zero-tile,zero-schedule)' | FileCheck %s --check-prefix=SCHEDULED
// RUN: spillway-opt %s -pass-pipeline='builtin.module(nn-assign-layouts,nn-form-kernels,zero-plan{memory=24576},zero-tile,zero-schedule,convert-zero-to-rt)' | FileCheck %s --check-prefix=STREAMED
// RUN: spillway-opt %s -pass-pipeline='builtin.module(nn-assign-layouts,nn-form-kernels,zero-plan{memory=1000000},zero-tile,zero-schedule,convert-zero-to-rt)' | FileCheck %s --check-prefix=RESIDENT
// RUN: spillway-opt %s -pass-pipeline='builtin.module(nn-assign-layouts,nn-form-kernels,zero-plan{device=24576 host=24576},zero-tile,zero-schedule,convert-zero-to-rt)' | FileCheck %s --check-prefix=TIERS
// RUN: spillway-opt %s -pass-pipeline='builtin.module(nn-assign-layouts,nn-form-kernels,zero-plan{device=1000000 host=1000000},zero-tile,zero-schedule,convert-zero-to-rt)' | FileCheck %s --check-prefix=DEVICE
// RUN: not spillway-opt %s -pass-pipeline='builtin.module(nn-assign-layouts,nn-form-kernels,zero-partition{ranks=2},zero-plan{memory=1000000})' 2>&1 | FileCheck %s --check-prefix=RANKS

// RANKS: error: a step that trains is planned for one rank alone

// What is updated with a weight lies as the weight does.
// CHECK: zero.state @w "w" : {{.*}} layout(<1>)
// CHECK: zero.state @m "m" : {{.*}} layout(<1>)
zero.state @w "w" : tensor<64x32xf32> role(<parameter>) rewritten source(#zero.splat<1.0 : f32>)
zero.state @m "m" : tensor<64x32xf32> role(<moment>) rewritten source(#zero.splat<0.0 : f32>)
zero.state @s "s" : tensor<8x8xf32> role(<parameter>) rewritten source(#zero.splat<1.0 : f32>)

// CHECK: func.func @main(%[[X:[a-z0-9]+]]: tensor<8x64xf32> {{.*}}, %[[G:[a-z0-9]+]]: tensor<8x32xf32>
// CHECK: %[[W:.*]] = zero.use @w
// CHECK: %[[M:.*]] = zero.use @m
// CHECK: %[[NEW:.*]]:2 = nn.call @[[UPDATE:.*]](%[[X]], %[[G]], %[[M]], %[[W]]) into(%[[W]], %[[M]] : {{.*}})
// CHECK: zero.update [@w, @m](%[[NEW]]#0, %[[NEW]]#1)
// The gradient of @s needs other elements of @s: it is a kernel of its own, and then the old ones can be overwritten.
// CHECK: %[[SQUARE:.*]] = nn.call @{{.*}}(%[[S:.*]]) : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK: nn.call @{{.*}}(%[[S]], %[[SQUARE]]) into(%[[S]] : tensor<8x8xf32>)
// CHECK: nn.kernel @[[UPDATE]]({{.*}}: tensor<64x32xf32> {nn.layout = #nn.panels<1>, nn.tiled}) -> (tensor<64x32xf32> {nn.layout = #nn.panels<1>, nn.tiled}, tensor<64x32xf32> {nn.layout = #nn.panels<1>, nn.tiled}) attributes {{.*}}schedule = #nn.schedule<gemm>

// SCHEDULED: zero.store
// SCHEDULED: zero.view
// SCHEDULED-NEXT: %[[V:.*]] = zero.view %[[H:.*]] : <tensor<64x16xf32>, host> -> tensor<64x16xf32>
// SCHEDULED-NEXT: %[[R:.*]]:2 = nn.call @{{.*}} units [1, 2] into(%[[V]], %{{.*}} : tensor<64x16xf32>, tensor<64x16xf32>)
// SCHEDULED-NEXT: zero.store %[[R]]#0 in %[[H]] : tensor<64x16xf32>, <tensor<64x16xf32>, host>
// SCHEDULED-NEXT: zero.store %[[R]]#1 in

// The next step reads what this one still writes when it has been written, into bytes that it is not written from.
// STREAMED: rt.step
// STREAMED-NEXT: ^bb0(%[[W0:.*]]: !rt.event, %[[M0:.*]]: !rt.event, %[[W1:.*]]: !rt.event, %[[M1:.*]]: !rt.event, %[[S:.*]]: !rt.event):
// STREAMED-NEXT: rt.read @w[0] into %{{.*}} after(%[[W0]])
// STREAMED-NEXT: rt.read @w[4096] into %{{.*}} after(%[[W1]])
// STREAMED: rt.read @m[0] into %{{.*}} after(%{{.*}}, %[[S]], %[[M0]])
// STREAMED: %[[READ:.*]] = rt.read @w[4096] into %[[B:.*]] after(%{{[0-9]+}})
// STREAMED-NEXT: %[[DONE:.*]] = rt.launch @{{.*}} into(%[[B]], %[[BM:.*]]) units [1, 2] origins [0, 0, 1, 1, 1, 1]
// STREAMED-NEXT: %[[WRITE:.*]] = rt.write %[[B]] into @w[4096] after(%[[DONE]]) label "w"
// STREAMED-NEXT: rt.write %[[BM]] into @m[4096] after(%[[DONE]]) label "m"
// STREAMED: rt.carry %{{.*}}, %{{.*}}, %[[WRITE]], %{{.*}}, %{{.*}}

// New values go down into the host's memory, and from there to the drive; the device's staging is free when they
// are there, and the host's when the drive has them, which may be in the next step.
// TIERS: rt.step
// TIERS-NEXT: ^bb0(%[[M0:.*]]: !rt.event, %[[M1:.*]]: !rt.event, %[[S:.*]]: !rt.event):
// TIERS: rt.launch @{{.*}} units [0, 1] scratch
// TIERS: %[[NEW:.*]] = rt.launch @{{.*}} into(%[[DW:.*]], %[[DM:.*]]) units [0, 1] scratch
// TIERS-NEXT: %[[WDOWN:.*]] = rt.copy %[[DW]] into %[[HW:.*]] on copy_down after(%[[NEW]]) label "w"
// TIERS-NEXT: %[[MDOWN:.*]] = rt.copy %[[DM]] into %[[HM:.*]] on copy_down after(%[[NEW]], %[[S]]) label "m"
// TIERS-NEXT: rt.write %[[HM]] into @m[0] after(%[[MDOWN]]) label "m"
// TIERS-NEXT: rt.copy %{{.*}} on copy_up after(%[[NEW]], %[[WDOWN]], %[[MDOWN]], %{{.*}}) label "m"
// What the host keeps is written from there.
// TIERS: rt.checkpoint
// TIERS-NEXT: rt.write %{{.*}} into @w[0] label "w"

// From the device's memory a checkpoint writes through halves of the host's staging.
// DEVICE: rt.step
// DEVICE-NOT: on copy_down
// DEVICE: rt.checkpoint
// DEVICE: %[[DOWN:.*]] = rt.copy %{{.*}} into %[[HOST:.*]] on copy_down label "w"
// DEVICE-NEXT: rt.write %[[HOST]] into @w[0] after(%[[DOWN]]) label "w"

// RESIDENT: rt.step
// RESIDENT-NOT: rt.write
// RESIDENT: rt.checkpoint
// RESIDENT: rt.write %{{.*}} into @w[0] label "w"
// RESIDENT: rt.write %{{.*}} into @m[0] label "m"
// RESIDENT: rt.write %{{.*}} into @s[0] label "s"
func.func @main(%x: tensor<8x64xf32> {spillway.name = "x", spillway.type = "f32"},
                %g: tensor<8x32xf32> {spillway.name = "g", spillway.type = "f32"})
    -> (tensor<8x32xf32> {spillway.name = "y", spillway.type = "f32"}) {
  %w = zero.use @w : tensor<64x32xf32>
  %y = nn.matmul %x, %w : tensor<8x64xf32>, tensor<64x32xf32> -> tensor<8x32xf32>
  %m = zero.use @m : tensor<64x32xf32>
  %gradient = nn.matmul %x, %g {transpose_lhs} : tensor<8x64xf32>, tensor<8x32xf32> -> tensor<64x32xf32>
  %m1 = arith.addf %m, %gradient : tensor<64x32xf32>
  %w1 = arith.subf %w, %m1 : tensor<64x32xf32>
  zero.update [@w, @m] (%w1, %m1) : tensor<64x32xf32>, tensor<64x32xf32>
  %s = zero.use @s : tensor<8x8xf32>
  %square = nn.matmul %s, %s : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %s1 = arith.subf %s, %square : tensor<8x8xf32>
  zero.update [@s] (%s1) : tensor<8x8xf32>
  return %y : tensor<8x32xf32>
}
