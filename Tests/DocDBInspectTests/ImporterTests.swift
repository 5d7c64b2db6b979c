import DocDBCore
import DocDBInspect
import Testing

@Suite("Importer")
struct ImporterTests {
    /// Commits texts to a list; refuses any that contain `bad`, with the position as the transcoder gives it.
    final class ListTarget: ImportTarget {
        private(set) var batches: [[String]] = []
        var failsAtBatch: Int?

        func commit(_ body: (_ upsert: (UnsafeRawBufferPointer) throws -> Void) throws -> Void) throws {
            var batch: [String] = []
            try body { text in
                let string = String(decoding: text, as: UTF8.self)
                if let range = string.firstRange(of: "bad") {
                    let offset = string.utf8.distance(from: string.startIndex, to: range.lowerBound)
                    throw DocDBError(
                        .invalidJSON, "invalid JSON at line 7, column 9: no value",
                        context: ["offset": String(offset), "line": "7", "column": "9"])
                }
                batch.append(string)
            }
            if batches.count == failsAtBatch { throw DocDBError(.diskFull, "full") }
            batches.append(batch)
        }
    }

    private func run(
        _ text: String, into target: ListTarget, batch: Int = 1000, identifierField: String? = nil, chunk: Int = 7,
        isInterrupted: @escaping () -> Bool = { false }
    ) -> ImportOutcome {
        var settings = ImportSettings()
        settings.batchCount = batch
        settings.identifierField = identifierField
        settings.chunkByteCount = chunk
        return Importer(MemorySource(text), into: target, settings: settings, isInterrupted: isInterrupted).run { _ in }
    }

    private func fault(_ outcome: ImportOutcome) -> RecordError? {
        if case .badRecord(let fault) = outcome.ending { fault } else { nil }
    }

    @Test("documents are committed in batches")
    func batches() {
        let target = ListTarget()
        let outcome = run("[{\"a\":1},{\"a\":2},{\"a\":3}]", into: target, batch: 2)
        #expect(target.batches == [["{\"a\":1}", "{\"a\":2}"], ["{\"a\":3}"]])
        #expect(outcome.committedCount == 3)
        #expect(fault(outcome) == nil)
    }

    @Test("a bad record ends the import at its place; what came before it is committed", arguments: 1...12)
    func badContent(chunk: Int) {
        let target = ListTarget()
        let outcome = run("{\"a\":1}\n{\"é\":2}\n  {\"é\":\n bad}\n{\"a\":4}", into: target, batch: 2, chunk: chunk)
        #expect(target.batches == [["{\"a\":1}", "{\"é\":2}"], []])
        #expect(outcome.committedCount == 2)
        #expect(fault(outcome) == RecordError("invalid JSON: no value", at: TextPosition(line: 4, column: 2)))
    }

    @Test("a broken structure ends the import at its place")
    func badStructure() {
        let target = ListTarget()
        let outcome = run("{\"a\":1}\n{\"a\":[}", into: target)
        #expect(outcome.committedCount == 1)
        #expect(fault(outcome)?.position == TextPosition(line: 2, column: 7))
    }

    @Test("--id-field copies the field's value to _id and keeps it")
    func identifierField() {
        let target = ListTarget()
        let outcome = run(
            "{\"vin\": \"x,}\\\"\" , \"a\":{\"vin\":0}}{\"b\":[1,{}],\"vin\":7}{\"v\\u0069n\":[2]}{\"vin\":1,\"vin\":2}",
            into: target, identifierField: "vin")
        #expect(
            target.batches.first == [
                "{\"_id\":\"x,}\\\"\",\"vin\": \"x,}\\\"\" , \"a\":{\"vin\":0}}", "{\"_id\":7,\"b\":[1,{}],\"vin\":7}",
                "{\"_id\":[2],\"v\\u0069n\":[2]}", "{\"_id\":2,\"vin\":1,\"vin\":2}",
            ])
        #expect(outcome.committedCount == 4)
    }

    @Test("--id-field accepts an equal _id and refuses another one, and a record without the field")
    func identifierConflicts() {
        let equal = ListTarget()
        _ = run("{\"_id\":7,\"vin\":7}", into: equal, identifierField: "vin")
        #expect(equal.batches == [["{\"_id\":7,\"vin\":7}"]])
        let other = run("{\"vin\":1}\n{\"vin\":7,\n\"_id\": 8}", into: ListTarget(), identifierField: "vin")
        #expect(fault(other)?.position == TextPosition(line: 3, column: 8))
        #expect(other.committedCount == 1)
        let none = run("\n {\"a\":{\"vin\":1}}", into: ListTarget(), identifierField: "vin")
        #expect(fault(none)?.position == TextPosition(line: 2, column: 2))
        let own = ListTarget()
        _ = run("{\"a\":1}", into: own, identifierField: "_id")
        #expect(own.batches == [["{\"a\":1}"]])
    }

    @Test("a fault's place is that of the file also where --id-field lengthened the record")
    func identifierPositions() {
        let outcome = run("{}{\"vin\":\"long value\",\n\"a\":bad}", into: ListTarget(), identifierField: "vin")
        #expect(fault(outcome)?.position == TextPosition(line: 1, column: 1))
        let second = run("{\"vin\":\"long value\",\n\"a\":bad}", into: ListTarget(), identifierField: "vin")
        #expect(fault(second)?.position == TextPosition(line: 2, column: 5))
        let inValue = run("{\"a\":1,\n \"vin\": [bad]}", into: ListTarget(), identifierField: "vin")
        #expect(fault(inValue)?.position == TextPosition(line: 2, column: 10))
    }

    @Test("an interrupt ends the import after the batch at work")
    func interrupt() {
        let target = ListTarget()
        let outcome = run(
            "{\"a\":1}{\"a\":2}{\"a\":3}", into: target, batch: 1, isInterrupted: { target.batches.count == 2 })
        #expect(outcome.committedCount == 2)
        guard case .interrupted = outcome.ending else {
            Issue.record("ended otherwise")
            return
        }
    }

    @Test("a commit that fails loses its batch alone")
    func failedCommit() {
        let target = ListTarget()
        target.failsAtBatch = 1
        let outcome = run("{\"a\":1}{\"a\":2}{\"a\":3}", into: target, batch: 2)
        #expect(outcome.committedCount == 2)
        guard case .failed(let error as DocDBError) = outcome.ending else {
            Issue.record("ended otherwise")
            return
        }
        #expect(error.code == .diskFull)
    }
}

@Suite("ProgressMeter")
struct ProgressMeterTests {
    @Test("shows share, documents, bytes and rate on a terminal, ten times a second at most")
    func terminal() {
        let sink = MemorySink()
        var now = 100.0
        var meter = ProgressMeter(
            sink, terminal: Terminal(errorIsTerminal: true, width: 200), totalByteCount: 4_000_000, clock: { now })
        now = 101
        meter.show(documents: 1234, bytes: 1_000_000)
        now = 101.05
        meter.show(documents: 1300, bytes: 1_100_000)
        meter.clear()
        #expect(
            sink.text == "\r25% [#####...............]  1,234 documents  1.0 MB  1.0 MB/s\u{1B}[K\r\u{1B}[K")
    }

    @Test("is silent elsewhere")
    func silent() {
        let sink = MemorySink()
        var meter = ProgressMeter(sink, terminal: Terminal(), totalByteCount: 10, clock: { 0 })
        meter.show(documents: 1, bytes: 5)
        meter.clear()
        #expect(sink.bytes.isEmpty)
    }
}
