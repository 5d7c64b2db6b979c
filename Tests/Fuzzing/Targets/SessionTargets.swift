import DocDBCore
import DocDBSync
import SyncModel

extension FuzzTarget {
    /// What happens to a session whose peer is known: frames, time, commits and evictions at this side.
    static let session = FuzzTarget(name: "session", words: [], seeds: sessionSeeds, run: runSession)

    private enum Step {
        static let message: UInt8 = 0
        static let frame: UInt8 = 1
        static let batchEnded: UInt8 = 2
        static let pass: UInt8 = 3
        static let write: UInt8 = 4
        static let delete: UInt8 = 5
        static let drained: UInt8 = 6
        static let evict: UInt8 = 7
    }

    private static var playground: PlaygroundAuthenticator { PlaygroundAuthenticator(appID: SessionDriver.appID) }

    /// The side under test, with some documents, and the frames with which its peer introduces itself.
    private static func makeDriver(
        side: UInt8, _ authenticator: any SessionAuthenticator = playground
    ) throws -> SessionDriver {
        let driver = SessionDriver(side: side, authenticator: authenticator)
        for document in side..<side + 3 { try driver.write(document, .set("x", Int64(document))) }
        try driver.tell(.opened(channelBinding: nil))
        return driver
    }

    private static func runSession(_ bytes: [UInt8]) throws {
        let (driver, peer) = (try makeDriver(side: 1), try makeDriver(side: 0))
        try exchange(driver, peer, rounds: 2)
        try require(driver.isEstablished, "the handshake does not come to its end")
        var input = FuzzInput(bytes)
        while !input.isAtEnd, driver.closed == nil { try step(driver, &input) }
        try finish(driver)
    }

    private static func step(_ driver: SessionDriver, _ input: inout FuzzInput) throws {
        switch input.byte() & 7 {
        case Step.message: try driver.tell(.received([0] + input.part()))
        case Step.frame: try driver.tell(.received(input.part()))
        case Step.pass:
            driver.pass(seconds: UInt64(input.byte()))
            try driver.tell(.tick)
        case Step.write:
            let document = input.byte()
            try driver.write(document, document & 8 == 0 ? .set("y", Int64(document)) : .increment("c", 1))
        case Step.delete: try driver.write(input.byte(), .delete)
        case Step.drained: try driver.tell(.drained)
        case Step.evict: try driver.evict(input.byte())
        default: try driver.tell(.batchEnded)
        }
    }

    private static func finish(_ driver: SessionDriver) throws {
        try driver.tell(.batchEnded)
        try driver.tell(.tick)
        try driver.tell(.closed)
        try driver.checkReplica()
    }

    /// Hands over the frames of either side, all that there are, so many times.
    private static func exchange(_ driver: SessionDriver, _ peer: SessionDriver, rounds: Int) throws {
        for _ in 0..<rounds {
            for (from, to) in [(peer, driver), (driver, peer)] {
                let frames = from.outbox
                from.outbox = []
                for frame in frames { try to.tell(.received(frame)) }
                if !frames.isEmpty { try to.tell(.batchEnded) }
            }
        }
    }

    /// What a true peer sends in a session with changes, removals and time on both sides.
    private static func sessionSeeds() throws -> [[UInt8]] {
        var seeds: [[UInt8]] = []
        for scenario in 0..<4 {
            let (driver, peer) = (try makeDriver(side: 1), try makeDriver(side: 0))
            try exchange(driver, peer, rounds: 2)
            var steps: [UInt8] = []
            for round in 0..<10 {
                if scenario > 0, round == 4 {
                    let document = UInt8(scenario)
                    try peer.write(document, scenario == 3 ? .delete : .set("y", 7))
                    try driver.write(document + 1, .increment("c", 1))
                    steps += [Step.write, (document + 1) | 8]
                }
                if scenario == 2, round == 6 {
                    try driver.evict(1)
                    try peer.evict(2)
                    steps += [Step.evict, 1]
                }
                if round % 4 == 3 {
                    for side in [driver, peer] {
                        side.pass(seconds: 6)
                        try side.tell(.tick)
                    }
                    steps += [Step.pass, 6]
                }
                try peer.tell(.batchEnded)
                for frame in peer.outbox {
                    try driver.tell(.received(frame))
                    let isPlain = frame.first == 0
                    steps +=
                        [isPlain ? Step.message : Step.frame]
                        + FuzzInput.part(isPlain ? Array(frame.dropFirst()) : frame)
                }
                peer.outbox = []
                try driver.tell(.batchEnded)
                steps += [Step.batchEnded]
                let answers = driver.outbox
                driver.outbox = []
                for frame in answers { try peer.tell(.received(frame)) }
                try require(driver.closed == nil && peer.closed == nil, "a true session ends by itself")
            }
            seeds.append(steps)
        }
        return seeds
    }

    // MARK: Handshake

    /// The kind of identity and the side, and then the frames of a peer that is not known yet.
    static let handshake = FuzzTarget(
        name: "handshake", words: [SessionDriver.appID, "playground", "sharedKey"], seeds: handshakeSeeds,
        run: { bytes in
            var input = FuzzInput(bytes)
            let head = input.byte()
            let driver = try makeDriver(side: head & 1, try authenticator(head))
            while !input.isAtEnd, driver.closed == nil {
                let isLong = driver.outbox.count > 10_000
                try require(!isLong, "a peer that nobody knows is sent ever more")
                try driver.tell(.received(input.part()))
                if input.byte() & 1 == 1 { try driver.tell(.batchEnded) }
            }
            let isSecret = head & 2 != 0
            try require(!isSecret || !driver.isEstablished, "a peer proves a key that it does not have")
            try finish(driver)
        })

    private static func authenticator(_ head: UInt8) throws -> any SessionAuthenticator {
        guard head & 2 != 0 else { return playground }
        return try SharedKeyAuthenticator(appID: SessionDriver.appID, key: [UInt8](repeating: 7, count: 32))
    }

    private static func handshakeSeeds() throws -> [[UInt8]] {
        var seeds: [[UInt8]] = []
        for head in UInt8(0)..<4 {
            // A peer with another key comes as far as its proof.
            let other: any SessionAuthenticator =
                head & 2 == 0
                ? playground
                : try SharedKeyAuthenticator(appID: SessionDriver.appID, key: [UInt8](repeating: 8, count: 32))
            let driver = try makeDriver(side: head & 1, try authenticator(head))
            let peer = try makeDriver(side: 1 - head & 1, other)
            var seed = [head]
            for _ in 0..<3 {
                for frame in peer.outbox {
                    seed += FuzzInput.part(frame) + [1]
                    try driver.tell(.received(frame))
                }
                peer.outbox = []
                try driver.tell(.batchEnded)
                for frame in driver.outbox { try peer.tell(.received(frame)) }
                driver.outbox = []
            }
            seeds.append(seed)
        }
        return seeds
    }

    // MARK: Documents

    /// The documents of a pull.
    static let documents = FuzzTarget(
        name: "documents", words: [],
        seeds: {
            // What a session sends after its handshake.
            let (driver, peer) = (try makeDriver(side: 1), try makeDriver(side: 0))
            for number in UInt8(0)..<4 { try peer.write(number, .increment("c", 2)) }
            try peer.write(2, .delete)
            var seeds: [[UInt8]] = []
            for _ in 0..<8 {
                for frame in peer.outbox {
                    switch try? MessageCodec.message(frame) {
                    case .documents(let message): seeds.append(message.content)
                    case .commit(let message): seeds.append(message.content)
                    default: break
                    }
                }
                try exchange(driver, peer, rounds: 1)
            }
            return seeds + [documentSeed]
        },
        run: { bytes in try runDocuments(bytes) })

    /// Two names, an actor, a collection and a whole document of a general state.
    private static let documentSeed: [UInt8] =
        [0x80, 0x81, 0x00, 0x01, 0x61, 0x81, 0x01, 0x01, 0x62, 0x82, 0x00] + [0, 0, 0, 0, 0, 0, 0, 1]
        + [0, 0, 0, 0, 0, 0, 0, 1] + [0x83, 0x04, 0x63, 0x61, 0x72, 0x73, 0x08, 0x00, 0x07]
        + [0xA2, 0x00, 0x01, 0x01, 0x02, 0x11, 0x00, 0x01, 0x00, 0, 0, 0, 0, 0, 0x10, 0, 0]

    private static func runDocuments(_ bytes: [UInt8]) throws {
        let names = FieldNames()
        let documents = try accepted([.protocolError]) {
            try DocumentsReader.documents(bytes, dictionary: ReceivingDictionary(), names: names)
        }
        for document in documents ?? [] {
            try require(
                (try? document.name.id.withUnsafeBytes { try DocumentID(canonicalCBOR: $0) }) != nil,
                "a document has an id that is none")
            let actors = ActorTable()
            guard let delta = try accepted([], { try document.delta(actors: actors) }) ?? nil else { continue }
            var state = DocumentState()
            let whole = DocumentDelta(base: VersionVector(), state: delta.state)
            try require(state.apply(whole, forgets: true, names: names), "a whole state does not join")
            var body = ByteBuffer()
            var encoded = ByteBuffer()
            let isAlive = state.encode(into: &body, state: &encoded, actors: actors)
            do {
                if isAlive { try CBOR.validate(body.bytes, internedKeyCount: names.count) }
                let again = try DocumentState(
                    body: isAlive ? body.bytes : nil, state: encoded.bytes, actors: actors)
                try require(again.isSame(as: state), "a document that was received is stored as another")
            } catch let failure as FuzzFailure {
                throw failure
            } catch { throw FuzzFailure(description: "a document that was received cannot be stored: \(error)") }
            try checkKept(document, names)
        }
    }

    /// A delta that waits because of its time is kept as bytes and read again.
    private static func checkKept(_ document: IncomingDocument, _ names: FieldNames) throws {
        guard case .delta = document.content else { return }
        let kept: IncomingDocument
        do { kept = try WireContent.document(try WireContent.bytes(document, names: names), names: names) } catch {
            throw FuzzFailure(description: "a delta that waits cannot be kept: \(error)")
        }
        try require(
            kept.name == document.name && kept.seen == document.seen && kept.deleted == document.deleted
                && kept.base == document.base && kept.newestTime == document.newestTime,
            "a delta that waited is another")
    }
}
