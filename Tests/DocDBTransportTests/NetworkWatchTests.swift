#if os(Linux)
    import DocDBTransport
    import TestSupport
    import Testing

    @Suite("NetworkWatch", .timeLimit(.minutes(10)))
    struct NetworkWatchTests {
        @Test("Tells that an address came, where the process may add one")
        func address() async throws {
            let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
            let watch = try #require(NetworkWatch { continuation.yield() })
            let address = "127.77.\(Int.random(in: 1...254)).\(Int.random(in: 1...254))/32"
            guard try await ip("add", address) else { return print("skipped: this process may add no addresses") }
            for await _ in changes { break }
            withExtendedLifetime(watch) {}
            #expect(try await ip("del", address))
        }

        /// Changes the addresses of the loopback interface; false where that is not possible here.
        private func ip(_ verb: String, _ address: String) async throws -> Bool {
            try await ChildProcess("env", ["ip", "address", verb, address, "dev", "lo"]).end() == 0
        }
    }
#endif
