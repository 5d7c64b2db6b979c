/// What came out for one case: medians over the rounds.
package struct CaseResult {
    package struct Side {
        package var milliseconds: Double
        package var bytes: Int?
        package var allocationsPerOperation: Double?

        package init(milliseconds: Double, bytes: Int? = nil, allocationsPerOperation: Double? = nil) {
            self.milliseconds = milliseconds
            self.bytes = bytes
            self.allocationsPerOperation = allocationsPerOperation
        }
    }

    package var name: String
    package var comparesBytes: Bool
    package var docdb: Side?
    package var peer: Side
    /// The median of the rounds' ratios, DocDB over the peer; nil where DocDB's side or the quantity is missing.
    package var ratio: Double?
    package var processorRatio: Double?
    package var checksum: Checksum
    package var bars: [Bar]

    package init(
        name: String, comparesBytes: Bool = false, docdb: Side?, peer: Side, ratio: Double?, processorRatio: Double?,
        checksum: Checksum, bars: [Bar]
    ) {
        self.name = name
        self.comparesBytes = comparesBytes
        self.docdb = docdb
        self.peer = peer
        self.ratio = ratio
        self.processorRatio = processorRatio
        self.checksum = checksum
        self.bars = bars
    }

    /// The bars that do not hold; nothing where DocDB's side is missing.
    package var brokenBars: [Bar] {
        guard let docdb else { return [] }
        return bars.filter { bar in
            switch bar {
            case .ratio(let limit): (ratio ?? 0) > limit
            case .milliseconds(let limit): docdb.milliseconds > limit
            case .bytes(let limit): (docdb.bytes ?? 0) > limit
            case .allocations(let limit): (docdb.allocationsPerOperation ?? 0) > limit
            }
        }
    }
}

/// Runs cases: a warm-up, then rounds in which the sides take turns at going first, then one round that counts allocations.
package struct BenchmarkRunner {
    package var size = CarsWorkload.Size.full
    package var rounds = 5
    /// Only cases whose name contains this run.
    package var filter = ""
    /// The existing directory in which the stores are made.
    package var directory = "/tmp"
    package var counter: AllocationCounter?

    package init() {}

    /// The names and the work of the cases that would run.
    package var selected: [(name: String, work: String, bars: [Bar])] { cases.map { ($0.name, $0.work, $0.bars) } }

    private var cases: [BenchmarkCase] { BenchmarkCase.all.filter { filter.isEmpty || $0.name.contains(filter) } }

    /// Runs the selected cases and passes each result on as soon as it is there.
    ///
    /// - Throws: `BenchmarkError` where the sides of a case did not find the same.
    package func run(on workload: CarsWorkload, _ report: (CaseResult) -> Void) async throws {
        let bench = Workbench(
            workload, in: directory, counter: counter,
            repeatsShortWork: size.documents >= CarsWorkload.Size.full.documents)
        for benchmark in cases { report(try await run(benchmark, on: bench)) }
    }

    private func run(_ benchmark: BenchmarkCase, on bench: Workbench) async throws -> CaseResult {
        _ = try await round(of: benchmark, on: bench, docdbFirst: true)
        var rounds: [Round] = []
        for number in 0..<max(1, self.rounds) {
            rounds.append(try await round(of: benchmark, on: bench, docdbFirst: number.isMultiple(of: 2)))
        }
        var counted: Round?
        if bench.canCount {
            bench.counts = true
            defer { bench.counts = false }
            counted = try await round(of: benchmark, on: bench, docdbFirst: true)
        }
        return summary(of: benchmark, rounds, counted)
    }

    private struct Round {
        var docdb: Measurement?
        var peer: Measurement
    }

    private func round(of benchmark: BenchmarkCase, on bench: Workbench, docdbFirst: Bool) async throws -> Round {
        var docdb: Measurement?
        if docdbFirst { docdb = try await benchmark.docdb?(bench) }
        let peer = try await benchmark.peer(bench)
        if !docdbFirst { docdb = try await benchmark.docdb?(bench) }
        if let docdb, docdb.checksum != peer.checksum {
            throw BenchmarkError(
                "\(benchmark.name): DocDB found \(docdb.checksum), the peer \(peer.checksum); they must find the same")
        }
        return Round(docdb: docdb, peer: peer)
    }

    private func summary(of benchmark: BenchmarkCase, _ rounds: [Round], _ counted: Round?) -> CaseResult {
        let operations = Double(benchmark.operations(size))
        func side(_ runs: [Measurement], _ counted: Measurement?) -> CaseResult.Side? {
            guard let milliseconds = median(runs.map(\.wall)) else { return nil }
            return CaseResult.Side(
                milliseconds: milliseconds,
                bytes: median(runs.compactMap { $0.bytes.map(Double.init) }).map { Int($0) },
                allocationsPerOperation: counted?.allocations.map { $0 / operations })
        }
        func ratio(_ quantity: (Measurement) -> Double?) -> Double? {
            median(
                rounds.compactMap { round in
                    guard let ours = round.docdb.flatMap(quantity), let theirs = quantity(round.peer), theirs > 0 else {
                        return nil
                    }
                    return ours / theirs
                })
        }
        let comparesBytes = benchmark.quantity == .bytes
        let peer = side(rounds.map(\.peer), counted?.peer)
        return CaseResult(
            name: benchmark.name, comparesBytes: comparesBytes,
            docdb: side(rounds.compactMap(\.docdb), counted?.docdb), peer: peer ?? CaseResult.Side(milliseconds: 0),
            ratio: ratio { comparesBytes ? $0.bytes.map(Double.init) : $0.wall },
            processorRatio: ratio { $0.processor },
            // On fewer documents the bars say nothing.
            checksum: rounds[0].peer.checksum, bars: size == .full ? benchmark.bars : [])
    }
}

/// The middle of the numbers, or the mean of the two in the middle; nil of none.
package func median(_ numbers: [Double]) -> Double? {
    guard !numbers.isEmpty else { return nil }
    let sorted = numbers.sorted()
    let middle = sorted.count / 2
    return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
}
