#ifndef SPILLWAY_TRANSFORMS_PASSES
#define SPILLWAY_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def NNFuseAttentionPass : Pass<"nn-fuse-attention", "::mlir::func::FuncOp"> {
  let summary = "Recognises softmax(q k^T * scale + mask) v";
  let description = [{
    Rewrites the chains that exporters write for scaled dot-product attention into `nn.attention`, so
    that the scores are never held as a whole: scale on the scores or split over query and
    key, as multiplication or division; an additive or boolean mask; a guard that turns the
    NaN of fully masked rows into zero; a key transposed as a matrix or by its permutation;
    heads of the key and value repeated by broadcasts (grouped-query).

    Needs: canonical form. Leaves: operations.
  }];
  let dependentDialects = ["::spillway::nn::NNDialect"];
}

def NNCausalMasksPass : Pass<"nn-causal-masks", "::mlir::func::FuncOp"> {
  let summary = "Says which masks of attention are causal";
  let description = [{
    Where a mask follows from constants alone (at most 4 M elements) and lets query i see just the keys j <= i + o, at
    least one, in all batches and heads, the attention gets `causal_offset` o for it: kernels and gradients then leave
    out what it hides. A mask of f32 must add 0 to what is seen and at most -1e30 to the rest. One that hides nothing is
    dropped.

    Needs: nn.attention. Leaves: operations; the mask is dead where nothing else reads it.
  }];
  let statistics = [Statistic<"numMasks", "masks", "Masks that were causal">];
}

def NNAddRowsPass : Pass<"nn-add-rows", "::mlir::func::FuncOp"> {
  let summary = "Adds the gradients of looked-up rows where an optimizer takes them";
  let description = [{
    An `nn.scatter <add>` of rows that one `zero.update` alone takes, element by element, becomes an `nn.add_rows` of
    sorted indices, which can be computed in the update's kernel. So the gradient of an embedding is not stored, nor
    that of one that is also the head: what its product reads waits for the rows instead, where that is at
    most twice the gradient. A scatter of more rows than the table has stays one. Indices that are out of range add
    nothing, where the scatter would report them: the look-up of the forward half does.

    ```mlir
    %1 = nn.scatter <add> %product[%indices] %updates
      : tensor<50x8xf32>, tensor<3x1xi64>, tensor<3x8xf32>
    ```
    becomes
    ```mlir
    %order = nn.argsort %rows dim 0 : tensor<3xi64> -> tensor<3xi64>
    %sorted = nn.gather %rows[%order] dim 0 : tensor<3xi64>, tensor<3xi64> -> tensor<3xi64>
    %1 = nn.add_rows %product[%sorted, %order] %updates : tensor<50x8xf32>, tensor<3xi64>, tensor<3x8xf32>
    ```

    Needs: `zero.update`. Leaves: operations.
  }];
  let statistics = [Statistic<"numScatters", "scatters", "Scatters that became nn.add_rows">];
  let dependentDialects = ["::spillway::nn::NNDialect", "::mlir::arith::ArithDialect"];
}

def NNTurnProductsPass : Pass<"nn-turn-products", "::mlir::ModuleOp"> {
  let summary = "Computes gradients with lanes along the panels of the states that they update";
  let description = [{
    A product that one `zero.update` alone takes, element by element, is computed transposed where the states are stored in
    panels along dimension 0: it can then be one kernel with the update, which computes panels of 16 columns.

    Needs: layouts. Leaves: operations.
  }];
  let statistics = [Statistic<"numProducts", "products", "Products that are computed transposed">];
  let dependentDialects = ["::spillway::nn::NNDialect"];
}

def NNAssignLayoutsPass : Pass<"nn-assign-layouts", "::mlir::ModuleOp"> {
  let summary = "Stores each weight in the order in which its kernel reads it";
  let description = [{
    A state of rank 2 that is the right operand of a matmul is stored in panels along the
    result's columns. One layout a state: where several matmuls disagree, those that compute most
    decide, at equal work the first; a state of which rows are looked up is stored along its rows, also where nothing else
    reads it but it is updated, so that it is updated by panels. A filter of
    convolutions alone is stored in panels along its first dimension. What is read by another shape, or in parts,
    stays in row-major order. What a product's right operand is unpacked from is stored by the product's columns:
    in runs of rows, or in panels of as many bytes as 16 numbers take. What an optimizer updates with a
    weight is stored as the weight is.

    Needs: canonical form (transposes of weights folded into the matmuls).
    Leaves: `layout` or `rows` on the states.
  }];
}

def NNFormKernelsPass : Pass<"nn-form-kernels", "::mlir::ModuleOp"> {
  let summary = "Outlines what is computed in one go into kernels";
  let description = [{
    Walks each function from its results up. An operation joins the kernel of its users where all
    of them are in one and pulling its elements there costs no more than storing them; else it is the root
    of a kernel of its own. A kernel has at most one anchor (matmul, attention, softmax, norm, reduction, scan),
    which sets its schedule; what follows it at the same index is its epilogue. Reshapes that join no
    kernel stay between the calls, where they name the same bytes. A weight or constant that is
    returned is copied by a kernel. The values of one `zero.update` are the results of one kernel, which
    computes them over the old ones (`into`).
    Equal kernels become one symbol.

    Needs: layouts. Leaves: the form *kernels* (see the nn dialect), which it verifies.
  }];
  let options = [
    Option<"maxOperations", "max-operations", "int64_t", "64", "Operations of one kernel at most">,
  ];
  let statistics = [
    Statistic<"numCalls", "calls", "Calls of kernels">,
    Statistic<"numKernels", "kernels", "Different kernels">,
  ];
  let dependentDialects = ["::spillway::nn::NNDialect"];
}

def NNNarrowStoresPass : Pass<"nn-narrow-stores", "::mlir::ModuleOp"> {
  let summary = "Stores what kernels of a step that trains give each other in fewer bits";
  let description = [{
    Of a module with `nn.stored_type`: values of f32 that follow from states that the step rewrites are rounded to that
    type where a kernel stores them, and widened where a kernel reads them. Within a kernel all is computed in f32
    as before; products and attention read the narrow operands themselves. These stay f32:

    - single numbers, and what the function returns;
    - what a reduction gives, and what follows from such results alone (statistics of rows);
    - gradients that an update takes element by element;
    - results in which accumulators rest between tiles of depth, those of a scatter, which would be rounded once for
      each update, and what such a result is computed over;
    - values of which a part would be no place on its own (one that begins at no multiple of 8 bytes).

    ```mlir
    %0 = nn.call @gemm(%x, %w) : (tensor<8x64xf32>, tensor<64x64xbf16>) -> tensor<8x64xf32>
    %1 = nn.call @map(%0) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    ```
    becomes, with `nn.stored_type = bf16`,
    ```mlir
    %0 = nn.call @gemm_0(%x, %w) : (tensor<8x64xf32>, tensor<64x64xbf16>) -> tensor<8x64xbf16>
    %1 = nn.call @map_0(%0) : (tensor<8x64xbf16>) -> tensor<8x64xbf16>
    ```

    Needs: kernel form. Leaves: the same.
  }];
  let statistics = [
    Statistic<"numNarrowed", "narrowed", "Values that are stored in fewer bits">,
  ];
  let dependentDialects = ["::spillway::nn::NNDialect"];
}

def NNDropBodiesPass : Pass<"nn-drop-bodies", "::mlir::ModuleOp"> {
  let summary = "Leaves kernels whose code is made as declarations with their cost";
  let description = [{
    Needs: kernel form. Leaves: the same; planning needs no more.
  }];
}

#endif
