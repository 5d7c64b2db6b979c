import Dispatch
import DocDBCore
import DocDBStorage
import Foundation
import Synchronization
import Testing

@Suite("Closing a store")
struct StoreClosingTests {
    #if os(Linux)
        /// The files below a directory that this process has open.
        private static func openFiles(below directory: String) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
                try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0)
            }.filter { $0.hasPrefix(directory) }
        }

        @Test("closes all files before it returns, whoever still holds the store and its statements")
        func closesFiles() throws {
            let place = TemporaryStore("closing")
            let store = try place.open()
            for number in Int64(0)..<20 { try store.put(["_id": .int(number), "a": .int(number)]) }
            // Connections for reading, one within the other, and a statement that is kept.
            let kept = try store.read { outer in
                try store.read { inner in _ = try inner.get(1) }
                return try outer.connection.prepareOnce("SELECT key FROM documents_1")
            }
            try store.synchronize()
            #expect(try !Self.openFiles(below: place.path).isEmpty)
            try store.close()
            #expect(try Self.openFiles(below: place.path).isEmpty)
            withExtendedLifetime((store, kept)) {}
        }

        @Test("leaves its files to a reading that goes on, until that ends")
        func leavesFilesToReading() async throws {
            let place = TemporaryStore("closing")
            let store = try place.open()
            try store.put(["_id": 1, "a": 1])
            let (isReading, isClosed) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let path = place.path
            let queue = DispatchQueue(label: "reading")
            let found = Mutex<Value?>(nil)
            let openCount = Mutex(0)
            queue.async {
                try? store.read { context in
                    isReading.signal()
                    isClosed.wait()
                    let value = try context.get(1)
                    found.withLock { $0 = value }
                    let count = try Self.openFiles(below: path).count
                    openCount.withLock { $0 = count }
                }
            }
            isReading.wait()
            try store.close()
            isClosed.signal()
            queue.sync {}
            #expect(found.withLock { $0 } == ["a": 1])
            #expect(openCount.withLock { $0 } > 0)
            #expect(try Self.openFiles(below: path).isEmpty)
            withExtendedLifetime(store) {}
        }
    #endif

    @Test("lets a copy of the directory that is made at once have all that was written")
    func copy() throws {
        let place = TemporaryStore("closing")
        let store = try place.open()
        for number in Int64(0)..<50 { try store.put(["_id": .int(number), "a": .int(number)]) }
        try store.close()
        #expect(!FileManager.default.fileExists(atPath: place.path + "/store.sqlite-wal"))
        let copy = TemporaryStore("closing")
        try FileManager.default.copyItem(atPath: place.path, toPath: copy.path)
        let copied = try copy.open()
        #expect(try copied.all().count == 50)
        #expect(try copied.verify().isEmpty)
        withExtendedLifetime(store) {}
    }
}
