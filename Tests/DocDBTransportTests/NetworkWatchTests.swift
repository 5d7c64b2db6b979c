#if os(Linux)
    import DocDBTransport
    import Foundation
    import Testing

    @Suite("NetworkWatch", .timeLimit(.minutes(10)))
    struct NetworkWatchTests {
        @Test("Tells that an address came, where the process may add one")
        func address() async throws {
            let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
            let watch = try #require(NetworkWatch { continuation.yield() })
            let address = "127.77.\(Int.random(in: 1...254)).\(Int.random(in: 1...254))/32"
            guard try ip("add", address) else { return print("skipped: this process may add no addresses") }
            defer { _ = try? ip("del", address) }
            for await _ in changes { break }
            withExtendedLifetime(watch) {}
        }

        /// Changes the addresses of the loopback interface; false where that is not possible here.
        private func ip(_ verb: String, _ address: String) throws -> Bool {
            let process = Process()
            process.executableURL = URL(filePath: "/usr/bin/env")
            process.arguments = ["ip", "address", verb, address, "dev", "lo"]
            process.standardError = FileHandle.nullDevice
            try process.run()
            process.waitUntilExit()
            return process.terminationStatus == 0
        }
    }
#endif
