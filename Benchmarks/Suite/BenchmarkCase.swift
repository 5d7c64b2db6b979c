/// A limit that a case must hold.
package enum Bar: Sendable {
    /// DocDB's value over the peer's, in the same round.
    case ratio(Double)
    case milliseconds(Double)
    case bytes(Int)
    /// Allocations for each operation.
    case allocations(Double)
}

/// One piece of work that both sides do.
struct BenchmarkCase: Sendable {
    /// What is compared.
    enum Quantity { case time, bytes }

    typealias Body = @Sendable (Workbench) async throws -> Measurement

    var name: String
    /// The work in one line, for `--list`.
    var work: String
    var quantity = Quantity.time
    var bars: [Bar]
    /// Operations in one execution: documents written, read or scanned, or one query.
    var operations: @Sendable (CarsWorkload.Size) -> Int
    var docdb: Body?
    var peer: Body
}
