// RUN: spillway-opt %s --split-input-file --verify-diagnostics

rt.program @main ranks(1) threads(1) {
  rt.arena host 64
  rt.prologue {
  }
  rt.step {
  }
  // expected-error@+1 {{C1: does not belong in a program}}
  %0 = arith.constant 1 : i32
}

// -----

// expected-error@+1 {{C1: needs one prologue, one step and at most one checkpoint}}
rt.program @main ranks(1) threads(1) {
  rt.prologue {
  }
}

// -----

// expected-error@+1 {{C2: ranks and threads must be at least 1}}
rt.program @main ranks(1) threads(0) {
  rt.prologue {
  }
  rt.step {
  }
}

// -----

rt.program @main ranks(1) threads(1) {
  rt.arena host 64
  // expected-error@+1 {{C3: a second arena of a tier}}
  rt.arena host 128
  rt.prologue {
  }
  rt.step {
  }
}

// -----

rt.program @main ranks(1) threads(1) {
  rt.arena host 8192
  // expected-error@+1 {{C4: ends outside the arena}}
  %a = rt.buffer "a" host[4096, 4097]
  rt.prologue {
  }
  rt.step {
  }
}

// -----

rt.program @main ranks(1) threads(1) {
  rt.arena host 8192
  // expected-error@+1 {{C4: ends outside the arena}}
  %a = rt.buffer "a" device[0, 64]
  rt.prologue {
  }
  rt.step {
  }
}

// -----

// A second read into the same bytes, which nothing orders after the first.
rt.program @main ranks(1) threads(1) {
  rt.arena host 16384
  %a = rt.buffer "a" host[0, 4096]
  %b = rt.buffer "b" host[4096, 4096]
  %c = rt.buffer "c" host[8192, 4096]
  rt.prologue {
  }
  rt.step {
    // expected-note@+1 {{the other command}}
    %0 = rt.read @w[0] into %a
    // expected-error@+1 {{C5: bytes [0, 4096) of host are touched with no order to another command}}
    %1 = rt.read @w[4096] into %a
  }
}

// -----

// A read that overtakes the kernel that still uses what it overwrites.
rt.program @main ranks(1) threads(1) {
  rt.arena host 16384
  %a = rt.buffer "a" host[0, 4096]
  %b = rt.buffer "b" host[4096, 4096]
  %c = rt.buffer "c" host[8192, 4096]
  rt.prologue {
  }
  rt.step {
    %0 = rt.read @w[0] into %a
    // expected-note@+1 {{the other command}}
    %1 = rt.launch @k(%a) into (%b) units [0, 1] after(%0)
    // expected-error@+1 {{C5: bytes [0, 4096) of host}}
    %2 = rt.read @w[4096] into %a after(%0)
  }
}

// -----

// A kernel that does not wait for its weight.
rt.program @main ranks(1) threads(1) {
  rt.arena host 16384
  %a = rt.buffer "a" host[0, 4096]
  %b = rt.buffer "b" host[4096, 4096]
  %c = rt.buffer "c" host[8192, 4096]
  rt.prologue {
  }
  rt.step {
    // expected-note@+1 {{the other command}}
    %0 = rt.read @w[0] into %a
    // expected-error@+1 {{C5: bytes [0, 4096) of host}}
    %1 = rt.launch @k(%a) into (%b) units [0, 1]
  }
}

// -----

// A kernel that writes some of what it reads; exactly what it reads it computes in place.
rt.program @main ranks(1) threads(1) {
  rt.arena host 16384
  %a = rt.buffer "a" host[0, 4096]
  %b = rt.buffer "b" host[2048, 4096]
  rt.prologue {
  }
  rt.step {
    %0 = rt.read @w[0] into %a
    %1 = rt.launch @k(%a) into (%a) units [0, 1] after(%0)
    // expected-error@+2 {{C5: bytes [2048, 6144) of host}}
    // expected-note@+1 {{the other command}}
    %2 = rt.launch @k(%a) into (%b) units [0, 1] after(%0)
  }
}

// -----

// Order over other commands and over a serial stream is order.
zero.state @w "w" : tensor<2048xf32> role(<parameter>) source(#zero.splat<0.0 : f32>)
nn.kernel private @k(tensor<1024xf32>) -> tensor<1024xf32>
    attributes {schedule = #nn.schedule<map>, units = 2 : i64, scratch = 0 : i64, cost = #nn.cost<1, 1>}
rt.program @main ranks(1) threads(1) {
  rt.arena host 16384
  %a = rt.buffer "a" host[0, 4096]
  %b = rt.buffer "b" host[4096, 4096]
  %c = rt.buffer "c" host[8192, 4096]
  rt.prologue {
  }
  rt.step {
    %0 = rt.read @w[0] into %a
    %1 = rt.launch @k(%a) into (%b) units [0, 1] after(%0)
    %2 = rt.launch @k(%b) into (%c) units [0, 1]
    %3 = rt.read @w[4096] into %a after(%2)
    %4 = rt.launch @k(%a) into (%b) units [0, 1] after(%3)
  }
}

// -----

// That a read stream starts in order orders nothing: its commands end as they like.
rt.program @main ranks(1) threads(1) {
  rt.arena host 16384
  %a = rt.buffer "a" host[0, 4096]
  %b = rt.buffer "b" host[4096, 4096]
  %c = rt.buffer "c" host[8192, 4096]
  rt.prologue {
  }
  rt.step {
    // expected-note@+1 {{the other command}}
    %0 = rt.read @w[0] into %a
    %1 = rt.read @w[4096] into %b
    // expected-error@+1 {{C5: bytes [0, 4096) of host}}
    %2 = rt.launch @k(%a) into (%c) units [0, 1] after(%1)
  }
}

// -----

rt.program @main ranks(1) threads(1) {
  rt.arena host 16384
  %a = rt.buffer "a" host[0, 4096]
  %b = rt.buffer "b" host[4096, 4096]
  %c = rt.buffer "c" host[8192, 4096]
  rt.prologue {
  }
  rt.step {
    // expected-error@+1 {{C6: bytes [0, 4096) of host are read before they were written}}
    %0 = rt.launch @k(%a) into (%b) units [0, 1]
  }
}

// -----

// The second step would find the weight overwritten.
rt.program @main ranks(1) threads(1) {
  rt.arena host 16384
  %a = rt.buffer "a" host[0, 4096]
  %b = rt.buffer "b" host[4096, 4096]
  %c = rt.buffer "c" host[8192, 4096]
  rt.prologue {
    %0 = rt.read @w[0] into %a
  }
  rt.step {
    %0 = rt.read @w[0] into %b
    // expected-error@+1 {{C6: bytes [0, 4096) of host hold what an earlier step left}}
    %1 = rt.launch @k(%a) into (%c) units [0, 1] after(%0)
    %2 = rt.launch @k(%b) into (%a) units [0, 1] after(%0)
  }
}

// -----

// expected-error@+1 {{C6: bytes [0, 4096) of host are read before they were written}}
rt.program @main ranks(1) threads(1) {
  rt.arena host 16384
  %a = rt.buffer "a" host[0, 4096]
  %b = rt.buffer "b" host[4096, 4096]
  %c = rt.buffer "c" host[8192, 4096]
  rt.output "a" %a "f32" [1024]
  rt.prologue {
  }
  rt.step {
  }
}

// -----

rt.program @main ranks(1) threads(1) {
  rt.arena host 64
  // expected-error@+1 {{C1: offset, bytes and rank_stride must not be negative}}
  %a = rt.buffer "a" host[0, -1]
  rt.prologue {
  }
  rt.step {
  }
}

// -----

rt.program @main ranks(1) threads(1) {
  rt.arena host 16384
  %a = rt.buffer "a" host[0, 4096]
  %b = rt.buffer "b" host[4096, 4096]
  %c = rt.buffer "c" host[8192, 4096]
  // expected-error@+1 {{C1: no data type f31}}
  rt.input "a" %a "f31" [1024]
  rt.prologue {
  }
  rt.step {
  }
}

// -----

rt.program @main ranks(1) threads(1) {
  rt.arena host 16384
  %a = rt.buffer "a" host[0, 4096]
  %b = rt.buffer "b" host[4096, 4096]
  %c = rt.buffer "c" host[8192, 4096]
  // expected-error@+1 {{C1: the tensor has 4100 bytes, its buffer 4096}}
  rt.input "a" %a "f32" [1025]
  rt.prologue {
  }
  rt.step {
  }
}

// -----

rt.program @main ranks(1) threads(1) {
  rt.arena host 16384
  %a = rt.buffer "a" host[0, 4096]
  %b = rt.buffer "b" host[4096, 4096]
  %c = rt.buffer "c" host[8192, 4096]
  rt.prologue {
  }
  rt.step {
    // expected-error@+1 {{C1: is no command, but stands among them}}
    %0 = arith.constant 1 : i32
  }
}

// -----

rt.program @main ranks(1) threads(1) {
  rt.arena host 16384
  %a = rt.buffer "a" host[0, 4096]
  %b = rt.buffer "b" host[4096, 4096]
  %c = rt.buffer "c" host[8192, 4096]
  %d = rt.buffer "d" host[12288, 64]
  rt.prologue {
  }
  rt.step {
    // expected-error@+1 {{C1: the buffers differ in bytes}}
    %0 = rt.copy %a into %d on compute
  }
}

// -----

rt.program @main ranks(1) threads(1) {
  rt.arena host 16384
  %a = rt.buffer "a" host[0, 4096]
  %b = rt.buffer "b" host[4096, 4096]
  %c = rt.buffer "c" host[8192, 4096]
  rt.prologue {
  }
  rt.step {
    // expected-error@+1 {{C2: no such copies on the stream read}}
    %0 = rt.copy %a into %b on read
  }
}

// -----

rt.program @main ranks(1) threads(1) {
  rt.arena host 16384
  rt.arena nvme 8192
  %a = rt.buffer "a" host[0, 4096]
  %s = rt.buffer "a" nvme[0, 4096]
  rt.prologue {
  }
  rt.step {
    // expected-error@+1 {{C2: no such copies on the stream compute}}
    %0 = rt.copy %a into %s on compute
  }
}

// -----

rt.program @main ranks(1) threads(1) {
  rt.arena host 16384
  rt.arena nvme 8192
  %a = rt.buffer "a" host[0, 4096]
  %s = rt.buffer "a" nvme[64, 4096]
  rt.prologue {
  }
  rt.step {
    // expected-error@+1 {{C3: the buffers must start at multiples of 4096}}
    %0 = rt.copy %a into %s on write
  }
}

// -----

// What comes back was written in the same step.
rt.program @main ranks(1) threads(1) {
  rt.arena host 16384
  rt.arena nvme 8192
  %a = rt.buffer "a" host[0, 4096]
  %b = rt.buffer "b" host[4096, 4096]
  %s = rt.buffer "a" nvme[0, 4096]
  rt.input "a" %a "f32" [1024]
  rt.prologue {
  }
  rt.step {
    // expected-error@+1 {{C6: bytes [0, 4096) of nvme are read before they were written}}
    %0 = rt.copy %s into %b on read
    %1 = rt.copy %a into %s on write after(%0)
  }
}

// -----

// Memory that is still being written to the drive is not taken again.
rt.program @main ranks(1) threads(1) {
  rt.arena host 16384
  rt.arena nvme 8192
  %a = rt.buffer "a" host[0, 4096]
  %b = rt.buffer "b" host[4096, 4096]
  %s = rt.buffer "a" nvme[0, 4096]
  rt.input "a" %a "f32" [1024]
  rt.input "b" %b "f32" [1024]
  rt.prologue {
  }
  rt.step {
    // expected-note@+1 {{the other command}}
    %0 = rt.copy %a into %s on write
    // expected-error@+1 {{C5: bytes [0, 4096) of host are touched with no order to another command}}
    %1 = rt.copy %b into %a on compute
  }
}

// -----

rt.program @main ranks(1) threads(1) {
  rt.arena host 16384
  %a = rt.buffer "a" host[0, 4096]
  %b = rt.buffer "b" host[4096, 4096]
  %c = rt.buffer "c" host[8192, 4096]
  rt.prologue {
  }
  rt.step {
    // expected-error@+1 {{C1: units must be [begin, end) with 0 <= begin < end}}
    %0 = rt.launch @k(%a) into (%b) units [1, 1]
  }
}

// -----

rt.program @main ranks(1) threads(1) {
  rt.arena host 16384
  %a = rt.buffer "a" host[0, 4096]
  %b = rt.buffer "b" host[4096, 4096]
  %c = rt.buffer "c" host[8192, 4096]
  rt.prologue {
  }
  rt.step {
    // expected-error@+1 {{C2: origins and held must have one entry per input and result}}
    %0 = rt.launch @k(%a) into (%b) units [0, 1] origins [0]
  }
}

// -----

rt.program @main ranks(1) threads(1) {
  rt.arena host 16384
  %a = rt.buffer "a" host[0, 4096]
  %b = rt.buffer "b" host[4096, 4096]
  %c = rt.buffer "c" host[8192, 4096]
  rt.prologue {
  }
  rt.step {
    // expected-error@+1 {{C3: a scratch comes with its bytes per thread}}
    %0 = rt.launch @k(%a) into (%b) units [0, 1] scratch %c per_thread 0
  }
}

// -----

rt.program @main ranks(1) threads(1) {
  rt.arena host 16384
  %a = rt.buffer "a" host[0, 4096]
  %b = rt.buffer "b" host[4096, 4096]
  %c = rt.buffer "c" host[8192, 4096]
  rt.prologue {
  }
  rt.step {
    // expected-error@+1 {{C1: needs either a resident state or a staging buffer}}
    %0 = rt.lookup @w[%a "i64"] into %b
  }
}

// -----

rt.program @main ranks(1) threads(1) {
  rt.arena host 16384
  %a = rt.buffer "a" host[0, 4096]
  %b = rt.buffer "b" host[4096, 4096]
  %c = rt.buffer "c" host[8192, 4096]
  rt.prologue {
  }
  rt.step {
    // expected-error@+1 {{C2: indices are i32 or i64, not u8}}
    %0 = rt.lookup @w[%a "u8"] into %b staging %c
  }
}

// -----

rt.program @main ranks(2) threads(1) {
  rt.arena host 16384
  %a = rt.buffer "a" host[0, 4096]
  %b = rt.buffer "b" host[4096, 4096]
  rt.input "a" %a "f32" [1024]
  rt.prologue {
  }
  rt.step {
    // expected-error@+1 {{C1: the target must have the bytes of 2 sources}}
    %0 = rt.all_gather %a into %b
  }
}

// -----

rt.program @main ranks(2) threads(1) {
  rt.arena host 16384
  // expected-error@+1 {{C1: offset, bytes and rank_stride must not be negative}}
  %a = rt.buffer "a" host[0, 4096] rank_stride -4096
  rt.prologue {
  }
  rt.step {
  }
}

// -----

rt.program @main ranks(3) threads(1) {
  rt.arena host 16384
  // expected-error@+1 {{C4: ends outside the arena}}
  %a = rt.buffer "a" host[0, 4096] rank_stride 8192
  rt.prologue {
  }
  rt.step {
  }
}

// -----

// Only the second rank reads over what a launch has written.
rt.program @main ranks(2) threads(1) {
  rt.arena host 16384
  %x = rt.buffer "x" host[0, 4096]
  %y = rt.buffer "y" host[8192, 4096]
  %own = rt.buffer "own" host[4096, 4096] rank_stride 4096
  rt.input "x" %x "f32" [1024]
  rt.prologue {
  }
  rt.step {
    // expected-note@+1 {{the other command}}
    %0 = rt.launch @k(%x) into (%y) units [0, 1]
    // expected-error@+1 {{C5: bytes [8192, 12288) of host are touched with no order to another command}}
    %1 = rt.read @w[0] rank_stride 4096 into %own
  }
}

// -----

// What the other rank has is there only when it has been gathered.
rt.program @main ranks(2) threads(1) {
  rt.arena host 16384
  %own = rt.buffer "w" host[0, 4096] rank_stride 4096
  %all = rt.buffer "w" host[0, 8192]
  %y = rt.buffer "y" host[8192, 4096]
  rt.prologue {
  }
  rt.step {
    %0 = rt.read @w[0] rank_stride 4096 into %own
    // expected-error@+1 {{C6: bytes [0, 8192) of host are read before they were written}}
    %1 = rt.launch @k(%all) into (%y) units [0, 1] after(%0)
  }
}

// -----

%b = builtin.unrealized_conversion_cast to !rt.buffer
// expected-error@+1 {{expects parent op to be one of 'rt.prologue, rt.step, rt.checkpoint'}}
%0 = rt.all_gather %b into %b

// -----

%b = builtin.unrealized_conversion_cast to !rt.buffer
// expected-error@+1 {{expects parent op to be one of 'rt.prologue, rt.step, rt.checkpoint'}}
%0 = rt.copy %b into %b on compute

// -----

rt.program @main ranks(1) threads(1) {
^bb0(%a: !rt.buffer):
  // expected-error@+1 {{C7: takes a buffer that is no rt.buffer}}
  rt.input "a" %a "f32" [1024]
  rt.prologue {
  }
  rt.step {
  }
}

// -----

rt.program @main ranks(1) threads(1) {
  rt.arena host 4096
  %a = rt.buffer "a" host[0, 4096]
  rt.prologue {
  ^bb0(%b: !rt.buffer):
    // expected-error@+1 {{C7: takes a buffer that is no rt.buffer}}
    %0 = rt.copy %b into %a on compute
  }
  rt.step {
  }
}

// -----

rt.program @main ranks(1) threads(1) {
  rt.arena host 4096
  %a = rt.buffer "a" host[0, 4096]
  rt.prologue {
  ^bb0(%b: !rt.buffer):
    // expected-error@+1 {{C7: takes a buffer that is no rt.buffer}}
    %0 = rt.all_gather %a into %b
  }
  rt.step {
  }
}

// -----

rt.program @main ranks(1) threads(1) {
  rt.arena host 4096
  %a = rt.buffer "a" host[0, 4096]
  rt.prologue {
  ^bb0(%e: !rt.event):
    // expected-error@+1 {{C2: waits for what is no command of the same list}}
    %0 = rt.read @w[0] into %a after(%e)
  }
  rt.step {
  }
}

// -----

rt.program @main ranks(1) threads(1) {
  rt.arena host 4096
  %a = rt.buffer "a" host[0, 4096]
  rt.prologue {
  }
  rt.step {
    // expected-error@+1 {{C1: no state @w}}
    %0 = rt.read @w[0] into %a
  }
}

// -----

rt.program @main ranks(1) threads(1) {
  rt.arena host 4096
  %a = rt.buffer "a" host[0, 4096]
  rt.input "a" %a "f32" [1024]
  rt.prologue {
  }
  rt.step {
    // expected-error@+1 {{C1: no state @w}}
    %0 = rt.write %a into @w[0]
  }
}

// -----

rt.program @main ranks(1) threads(1) {
  rt.arena host 16384
  %a = rt.buffer "a" host[0, 4096]
  %b = rt.buffer "b" host[4096, 4096]
  %c = rt.buffer "c" host[8192, 4096]
  rt.input "a" %a "i64" [512]
  rt.prologue {
  }
  rt.step {
    // expected-error@+1 {{C3: no state @w}}
    %0 = rt.lookup @w[%a "i64"] into %b staging %c
  }
}

// -----

zero.state @k "k" : tensor<1024xf32> role(<parameter>) source(#zero.splat<0.0 : f32>)
rt.program @main ranks(1) threads(1) {
  rt.arena host 8192
  %a = rt.buffer "a" host[0, 4096]
  %b = rt.buffer "b" host[4096, 4096]
  rt.input "a" %a "f32" [1024]
  rt.prologue {
  }
  rt.step {
    // expected-error@+1 {{C4: no kernel @k}}
    %0 = rt.launch @k(%a) into (%b) units [0, 1]
  }
}

// -----

nn.kernel private @k(tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    attributes {schedule = #nn.schedule<map>, units = 2 : i64, scratch = 0 : i64, cost = #nn.cost<1, 1>}
rt.program @main ranks(1) threads(1) {
  rt.arena host 8192
  %a = rt.buffer "a" host[0, 4096]
  %b = rt.buffer "b" host[4096, 4096]
  rt.input "a" %a "f32" [1024]
  rt.prologue {
  }
  rt.step {
    // expected-error@+1 {{C4: @k takes 2 inputs and gives 1 results}}
    %0 = rt.launch @k(%a) into (%b) units [0, 1]
  }
}

// -----

zero.state @s "s" : tensor<1024xf32> role(<parameter>) rewritten source(#zero.splat<0.0 : f32>)
rt.program @main ranks(1) threads(1) {
  rt.arena host 8192
  %s = rt.buffer "s" host[0, 4096]
  rt.prologue {
  }
  // expected-error@+1 {{C3: has 0 arguments and carries 1 events}}
  rt.step {
    %0 = rt.read @s[0] into %s
    %1 = rt.write %s into @s[0] after(%0)
    rt.carry %1
  }
}

// -----

zero.state @s "s" : tensor<1024xf32> role(<parameter>) rewritten source(#zero.splat<0.0 : f32>)
rt.program @main ranks(1) threads(1) {
  rt.arena host 8192
  %s = rt.buffer "s" host[0, 4096]
  rt.prologue {
  }
  rt.step {
  ^bb0(%before: !rt.event):
    %0 = rt.read @s[0] into %s after(%before)
    // expected-error@+1 {{C3: carries what is no write, or twice}}
    rt.carry %0
  }
}

// -----

// The bytes may still be written from when the next step reads into them.
zero.state @s "s" : tensor<1024xf32> role(<parameter>) rewritten source(#zero.splat<0.0 : f32>)
rt.program @main ranks(1) threads(1) {
  rt.arena host 8192
  %s = rt.buffer "s" host[0, 4096]
  rt.prologue {
  }
  rt.step {
  ^bb0(%before: !rt.event):
    // expected-error@+1 {{C5: bytes [0, 4096) of host are touched with no order to another command of the step before}}
    %0 = rt.read @s[0] into %s
    // expected-note@+1 {{the other command}}
    %1 = rt.write %s into @s[0] after(%0)
    rt.carry %1
  }
}

// -----

// The state may still be written when the next step reads it, to other bytes.
zero.state @s "s" : tensor<1024xf32> role(<parameter>) rewritten source(#zero.splat<0.0 : f32>)
zero.state @t "t" : tensor<1024xf32> role(<parameter>) source(#zero.splat<0.0 : f32>)
rt.program @main ranks(1) threads(1) {
  rt.arena host 8192
  %s = rt.buffer "s" host[0, 4096]
  %t = rt.buffer "t" host[4096, 4096]
  rt.prologue {
  }
  rt.step {
  ^bb0(%before: !rt.event):
    // expected-error@+1 {{C5: bytes [0, 4096) of 's' are touched with no order to another command of the step before}}
    %0 = rt.read @s[0] into %t
    %1 = rt.read @t[0] into %s after(%before)
    // expected-note@+1 {{the other command}}
    %2 = rt.write %s into @s[0] after(%1)
    rt.carry %2
  }
}

// -----

// The input is written between the steps.
zero.state @s "s" : tensor<1024xf32> role(<parameter>) rewritten source(#zero.splat<0.0 : f32>)
rt.program @main ranks(1) threads(1) {
  rt.arena host 8192
  %x = rt.buffer "x" host[0, 4096]
  rt.input "x" %x "f32" [1024]
  rt.prologue {
  }
  rt.step {
  ^bb0(%before: !rt.event):
    // expected-error@+2 {{C5: bytes [0, 4096) of host are touched with no order to another command of the step before}}
    // expected-note@+1 {{the other command}}
    %0 = rt.write %x into @s[0]
    rt.carry %0
  }
}

// -----

// The state may still be read when what follows is written over it.
zero.state @s "s" : tensor<1024xf32> role(<parameter>) rewritten source(#zero.splat<0.0 : f32>)
zero.state @t "t" : tensor<1024xf32> role(<parameter>) source(#zero.splat<0.0 : f32>)
rt.program @main ranks(1) threads(1) {
  rt.arena host 8192
  %s = rt.buffer "s" host[0, 4096]
  %t = rt.buffer "t" host[4096, 4096]
  rt.prologue {
  }
  rt.step {
    // expected-note@+1 {{the other command}}
    %0 = rt.read @s[0] into %t
    %1 = rt.read @t[0] into %s
    // expected-error@+1 {{C5: bytes [0, 4096) of 's' are touched with no order to another command}}
    %2 = rt.write %s into @s[0] after(%1)
  }
}
