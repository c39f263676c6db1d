// REQUIRES: spillway-opt
// RUN: spillway-opt %s -nn-add-loss='losses=cross_entropy(logits,targets,shift=1,label_smoothing=0.25)' | FileCheck %s
// RUN: spillway-opt %s -nn-add-loss='losses=mse(logits),total' | FileCheck %s --check-prefix=SUM
// RUN: spillway-opt %s -nn-add-loss='losses=cross_entropy(logits,ids,weight=2)' | FileCheck %s --check-prefix=INPUT
// RUN: spillway-opt %s -nn-add-loss='losses=cross_entropy(logits,dim=1)' | FileCheck %s --check-prefix=DIM

// Labels are a new input. What lies `shift` further on is compared, and the last places do not count; a label that is
// negative is no class, and one that is ignored is class 0 for its look.
// CHECK: func.func @main(%{{.*}}: tensor<2x3xi64> {{{.*}}}, %[[LABELS:[a-z0-9]+]]: tensor<2x3xi64> {spillway.classes = array<i64: 5, -100, 1>, spillway.name = "targets", spillway.type = "i64"})
// CHECK-SAME: -> (tensor<2x3x5xf32> {{{.*}}}, tensor<f32> {{{.*}}}, tensor<f32> {spillway.name = "loss", spillway.type = "f32"})
// CHECK: %[[REST:.*]] = nn.slice %[[LABELS]] offsets [0, 1] strides [1, 1] : tensor<2x3xi64> -> tensor<2x2xi64>
// CHECK: %[[NEXT:.*]] = nn.concat %[[REST]], %{{.*}} dim 1
// CHECK: %[[KNOWN:.*]] = arith.constant dense<{{\[\[}}true, true, false], [true, true, false]]>
// CHECK: arith.constant dense<-100> : tensor<2x3xi64>
// CHECK: %[[COUNTS:.*]] = arith.andi %{{.*}}, %[[KNOWN]]
// CHECK: %[[NEGATIVE:.*]] = arith.cmpi slt, %[[NEXT]]
// CHECK: %[[OUTSIDE:.*]] = arith.constant dense<5> : tensor<2x3xi64>
// CHECK: %[[CLASS:.*]] = arith.select %[[NEGATIVE]], %[[OUTSIDE]], %[[NEXT]]
// CHECK: %[[INDEX:.*]] = arith.select %[[COUNTS]], %[[CLASS]]
// CHECK: %[[LOGS:.*]] = nn.log_softmax %{{.*}} dim 2 : tensor<2x3x5xf32>
// CHECK: nn.gather_elements %[[LOGS]]
// CHECK: %[[ALL:.*]] = nn.reduce <sum> %[[LOGS]] dims [2]
// CHECK: arith.constant dense<7.500000e-01>
// CHECK: arith.constant dense<5.000000e-02>
// CHECK: %[[COUNTED:.*]] = arith.select %[[COUNTS]]
// CHECK: %[[WHOLE:.*]] = nn.reduce <sum> %[[COUNTED]] dims [0, 1]
// CHECK: %[[ONES:.*]] = arith.uitofp %[[COUNTS]]
// CHECK: %[[COUNT:.*]] = nn.reduce <sum> %[[ONES]] dims [0, 1]
// CHECK: %[[LOSS:.*]] = arith.divf %[[WHOLE]], %[[COUNT]]
// CHECK: return %{{.*}}, %{{.*}}, %[[LOSS]]

// SUM: func.func @main(%{{.*}}, %[[LABELS:[a-z0-9]+]]: tensor<2x3x5xf32> {spillway.name = "labels", spillway.type = "f32"})
// SUM: %[[TOTAL:.*]] = nn.reduce <sum>
// SUM: %[[D:.*]] = arith.subf %{{.*}}, %[[LABELS]]
// SUM: %[[SQUARE:.*]] = arith.mulf %[[D]], %[[D]]
// SUM: %[[MEAN:.*]] = nn.reduce <mean> %[[SQUARE]] dims [0, 1, 2]
// SUM: %[[BOTH:.*]] = arith.addf %[[MEAN]], %[[TOTAL]]
// SUM: return %{{.*}}, %{{.*}}, %[[BOTH]]

// An input of the model may be the labels.
// INPUT: func.func @main(%[[IDS:[a-z0-9]+]]: tensor<2x3xi64> {spillway.classes = array<i64: 5, -100, 0>, spillway.name = "ids", spillway.type = "i64"}) ->
// INPUT: arith.cmpi eq, %[[IDS]]
// INPUT: arith.constant dense<2.000000e+00> : tensor<f32>

// DIM: func.func @main(%{{.*}}, %{{[a-z0-9]+}}: tensor<2x5xi64> {spillway.classes = array<i64: 3, -100, 0>, spillway.name = "labels", spillway.type = "i64"})
// DIM: nn.log_softmax %{{.*}} dim 1
func.func @main(%ids: tensor<2x3xi64> {spillway.name = "ids", spillway.type = "i64"})
    -> (tensor<2x3x5xf32> {spillway.name = "logits", spillway.type = "f32"}, tensor<f32> {spillway.name = "total", spillway.type = "f32"}) {
  %float = arith.sitofp %ids : tensor<2x3xi64> to tensor<2x3xf32>
  %logits = nn.broadcast %float dims [0, 1] : tensor<2x3xf32> -> tensor<2x3x5xf32>
  %total = nn.reduce <sum> %float dims [0, 1] : tensor<2x3xf32> -> tensor<f32>
  return %logits, %total : tensor<2x3x5xf32>, tensor<f32>
}
