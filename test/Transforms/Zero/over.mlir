// A result lies over the operand that its kernel may overwrite, where nothing takes that operand afterwards,
// and the kernel takes it once.
// RUN: spillway-opt %s -pass-pipeline='builtin.module(zero-plan{memory=100000},zero-tile,zero-schedule,convert-zero-to-rt)' | FileCheck %s

nn.kernel private @k(tensor<1024xf32>) -> (tensor<1024xf32> {nn.over = 0 : i64})
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<1, 1>}
nn.kernel private @sum(tensor<1024xf32>, tensor<1024xf32>) -> (tensor<1024xf32> {nn.over = 0 : i64})
  attributes {schedule = #nn.schedule<map>, units = 1 : i64, scratch = 0 : i64, cost = #nn.cost<1, 1>}

// CHECK: rt.arena host 8192
// CHECK: %[[A:.*]] = rt.buffer "" host[0, 4096]
// CHECK: rt.input "x" %[[A]] "f32"
// CHECK: rt.step
// CHECK-NEXT: rt.launch @k(%[[A]]) into(%[[A]]) units
// CHECK-NEXT: rt.launch @k(%[[A]]) into(%[[A]]) units
// CHECK-NEXT: rt.launch @k(%[[A]]) into(%[[C:[0-9]+]]) units
// CHECK-NEXT: rt.launch @sum(%[[C]], %[[A]]) into(%[[C]]) units
// CHECK-NEXT: rt.launch @sum(%[[C]], %[[C]]) into(%{{.*}}) units
func.func @main(%x: tensor<1024xf32> {spillway.name = "x", spillway.type = "f32"})
    -> (tensor<1024xf32> {spillway.name = "y", spillway.type = "f32"}) {
  %a = nn.call @k(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = nn.call @k(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
  %c = nn.call @k(%b) : (tensor<1024xf32>) -> tensor<1024xf32>
  %d = nn.call @sum(%c, %b) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %e = nn.call @sum(%d, %d) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %e : tensor<1024xf32>
}
