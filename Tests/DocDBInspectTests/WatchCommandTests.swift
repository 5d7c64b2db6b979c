import DocDB
import DocDBInspect
import Foundation
import Testing

@Suite("The command watch")
struct WatchCommandTests {
    /// Runs watch; `steps` happen one after another between its looks at the store, then comes Ctrl-C.
    private func watch(_ arguments: [String], steps: [() throws -> Void]) throws -> (code: Int32, output: String) {
        let output = MemorySink()
        let error = MemorySink()
        var rest = steps[...]
        var failure: (any Error)?
        var isOver = false
        var console = Console(
            output: output, error: error, openInput: { MemorySource("") }, terminal: Terminal(), clock: { 0 },
            catchInterrupts: {}, isInterrupted: { isOver })
        console.pause = { _ in
            guard let step = rest.popFirst() else { return isOver = true }
            do { try step() } catch { failure = error }
        }
        let code = Inspector.run(arguments, on: console)
        if let failure { throw failure }
        #expect(error.text == "")
        return (code, output.text)
    }

    @Test("prints what is there, then what a writer beside it changes, and ends well at Ctrl-C")
    func changes() throws {
        let store = try InspectedStore(cars: #"{"_id":1,"price":5}"# + "\n" + #"{"_id":2,"price":7}"# + "\n")
        let writer = try Database(at: store.path)
        let cars = writer.collection("cars")
        let (code, output) = try watch(
            ["watch", store.path, "cars", "price < $top", "--arg", "top=50", "--sort", "price", "--limit", "3"],
            steps: [
                { try cars.insert(["_id": 3, "price": 6, "new": true]) },
                { try cars.insert(["_id": 4, "price": 60]) },
                { try cars.update(1) { $0["price"] = 8 } },
                { try cars.update(2) { $0["sold"] = true } },
                { try cars.remove(3) },
            ])
        try writer.close()
        #expect(code == 0)
        #expect(
            output == """
                {"event":"initial","index":0,"document":{"_id":1,"price":5}}
                {"event":"initial","index":1,"document":{"_id":2,"price":7}}
                {"event":"insert","index":1,"document":{"_id":3,"new":true,"price":6}}
                {"event":"move","index":2,"from":0,"document":{"_id":1,"price":8}}
                {"event":"update","index":1,"document":{"_id":2,"price":7,"sold":true}}
                {"event":"delete","index":0,"document":{"_id":3,"new":true,"price":6}}

                """)
    }

    @Test("json is one array for all events, and table is one for each")
    func formats() throws {
        let store = try InspectedStore(cars: #"{"_id":1}"# + "\n")
        let json = try watch(["watch", store.path, "cars", "--format", "json"], steps: [])
        #expect(json.code == 0)
        #expect(json.output == "[\n{\"event\":\"initial\",\"index\":0,\"document\":{\"_id\":1}}\n]\n")
        let table = try watch(["watch", store.path, "cars", "--format", "table"], steps: [])
        #expect(table.code == 0)
        #expect(table.output.contains("initial"))
    }

    @Test("ends with success at a real Ctrl-C, with all that it had printed")
    func interrupt() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            let store = try InspectedStore(cars: #"{"_id":1,"price":5}"# + "\n")
            var console = Console.standard()
            // The command waits for changes that never come, until the signal does.
            let isWaiting = InterruptAtPause()
            console.pause = isWaiting.pause
            let code = Inspector.run(["watch", store.path, "cars"], on: console)
            exit(isWaiting.count >= 2 ? code : 99)
        }
        let text = result.map { String(decoding: $0.standardOutputContent, as: UTF8.self) }
        #expect(text?.contains(#"{"event":"initial","index":0,"document":{"_id":1,"price":5}}"#) == true)
    }
}

/// Sends this process the signal of Ctrl-C at the second pause.
private final class InterruptAtPause {
    private(set) var count = 0

    func pause(_ seconds: Double) {
        count += 1
        if count == 2 { kill(getpid(), SIGINT) }
    }
}
