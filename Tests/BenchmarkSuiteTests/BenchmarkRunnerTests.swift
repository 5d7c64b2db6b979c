import BenchmarkSuite
import Testing

@Suite("BenchmarkRunner")
struct BenchmarkRunnerTests {
    @Test("every case runs on few documents, and both sides find the same")
    func tiny() async throws {
        var runner = BenchmarkRunner()
        runner.size = .tiny
        runner.rounds = 1
        runner.directory = try BenchmarkOptions([]).directory
        var results: [CaseResult] = []
        try await runner.run(on: CarsWorkload(.tiny)) { results.append($0) }
        #expect(results.map(\.name) == runner.selected.map(\.name))
        // The runner compares the checksums of the sides wherever there are both.
        #expect(results.allSatisfy { $0.docdb != nil })
        let expected = [
            "insert-batched", "insert-single", "update-batched", "get-by-id", "scan-count", "scan-decode", "sort-limit",
            "index-count", "sort-limit-indexed", "group-commit", "file-size",
        ]
        #expect(Set(expected).isSubset(of: results.map(\.name)))
        #expect(results.first { $0.name == "insert-single" }?.checksum.count == 1_040)
        #expect(results.first { $0.name == "sort-limit" }?.checksum.count == 20)
        let sizes = results.first { $0.name == "file-size" }
        #expect(sizes?.peer.bytes ?? 0 > 261 * 1_000 && sizes?.docdb?.bytes ?? 0 > 128 * 1_000)
        let counts = results.filter { $0.name == "scan-count" || $0.name == "index-count" }.map(\.checksum.count)
        #expect(counts.count == 2 && counts[0] == counts[1] && counts[0] > 0)
    }

    @Test("a filter selects by a part of the name")
    func filter() {
        var runner = BenchmarkRunner()
        runner.filter = "sort-limit"
        #expect(runner.selected.map(\.name) == ["sort-limit", "sort-limit-indexed"])
    }

    @Test(
        "the median is the middle, or the mean of the two in the middle",
        arguments: [([3, 1, 2], 2), ([4, 1, 3, 2], 2.5), ([7], 7)] as [([Double], Double)])
    func medians(numbers: [Double], expected: Double) {
        #expect(median(numbers) == expected)
    }

    @Test("nothing has no median")
    func medianOfNothing() {
        #expect(median([]) == nil)
    }
}

@Suite("CaseResult")
struct CaseResultTests {
    private func result(ratio: Double, milliseconds: Double = 12.5, allocations: Double = 0, bars: [Bar]) -> CaseResult
    {
        CaseResult(
            name: "scan-count",
            docdb: .init(milliseconds: milliseconds, bytes: 1_024, allocationsPerOperation: allocations),
            peer: .init(milliseconds: 50), ratio: ratio, processorRatio: 0.2,
            checksum: Checksum(count: 7, sum: 9), bars: bars)
    }

    @Test("a line of JSON has the agreed fields")
    func json() {
        let expected = """
            {"name": "scan-count", "docdb_ms": 12.5000, "peer": "sqlite-json", "peer_ms": 50.0000, "ratio": 0.250, \
            "cpu_ratio": 0.200, "docdb_bytes": 1024, "peer_bytes": null, "allocations_per_op": 0.000, \
            "peer_allocations_per_op": null, "bar": "<= 0.25", "holds": true, "checksum": "7/9"}
            """
        #expect(result(ratio: 0.25, bars: [.ratio(0.25)]).json == expected)
    }

    @Test("a bar is broken beyond its limit only")
    func bars() {
        #expect(result(ratio: 0.25, bars: [.ratio(0.25), .milliseconds(12.5), .bytes(1_024)]).brokenBars.isEmpty)
        let over = result(
            ratio: 0.26, allocations: 1, bars: [.ratio(0.25), .milliseconds(12), .bytes(1_023), .allocations(0.5)])
        #expect(over.brokenBars.count == 4)
        #expect(over.row.contains("OVER"))
    }

    @Test(
        "numbers are written with their decimals, rounded",
        arguments: [
            (1.005, 1, "1.0"), (0.96, 1, "1.0"), (12.3456, 2, "12.35"), (-0.04, 1, "0.0"), (-2.5, 1, "-2.5"),
            (7, 0, "7"),
        ] as [(Double, Int, String)])
    func decimals(value: Double, count: Int, expected: String) {
        #expect(fixed(value, count) == expected)
    }
}

@Suite("BenchmarkOptions")
struct BenchmarkOptionsTests {
    @Test("options are read in any order")
    func options() throws {
        let options = try BenchmarkOptions(["--runs", "9", "--json", "--filter", "scan", "--check"])
        #expect(options.rounds == 9 && options.json && options.filter == "scan" && options.check)
        #expect(options.action == .run && !options.tiny)
        #expect(try BenchmarkOptions(["generate-cars", "12"]).action == .generateCars(12))
    }

    @Test(
        "wrong usage is refused",
        arguments: [
            ["--runs"], ["--runs", "0"], ["--runs", "many"], ["--fast"], ["generate-cars"], ["generate-cars", "-1"],
        ])
    func wrongUsage(arguments: [String]) {
        #expect(throws: BenchmarkError.self) { try BenchmarkOptions(arguments) }
    }
}
