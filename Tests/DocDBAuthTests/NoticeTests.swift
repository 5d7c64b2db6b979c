import DocDBAuth
import DocDBCore
import Testing

@Suite("Notices of hubs between peers")
struct NoticeTests {
    @Test(
        "Messages are read back as they were written",
        arguments: [
            NoticeMessage.summary([UInt8](repeating: 7, count: 16)),
            .buckets((0..<64).map { UInt64($0) << 56 | 0xFEDC_BA98 }), .notices([]), .notices(["a.b.c", "ä"]),
        ])
    func messages(message: NoticeMessage) throws {
        #expect(try NoticeMessage(message.encoded) == message)
        for count in 0..<message.encoded.count {
            #expect(throws: DocDBError.self) { try NoticeMessage(Array(message.encoded.prefix(count))) }
        }
        #expect(throws: DocDBError.self) { try NoticeMessage(message.encoded + [0]) }
    }

    @Test(
        "Bytes that are no message are refused",
        arguments: [
            // Another kind; a hash and buckets of wrong sizes; too many notices, of which none is there.
            [0x82, 0x03, 0x80], [0x82, 0x00, 0x41, 0x00], [0x82, 0x01, 0x40],
            [0x82, 0x02, 0x9A, 0x7F, 0xFF, 0xFF, 0xFF],
            [0x82, 0x02, 0x81, 0x61, 0xFF], [0x80], [0xA0], [],
        ] as [[UInt8]])
    func malformed(bytes: [UInt8]) {
        #expect(throws: DocDBError.self) { try NoticeMessage(bytes) }
    }

    @Test("A notice that is too long is refused, and many go in several messages")
    func sizes() throws {
        let long = String(repeating: "x", count: AuthenticationLimits.certificateByteCount)
        #expect(try NoticeMessage(NoticeMessage.notices([long]).encoded) == .notices([long]))
        #expect(throws: DocDBError.self) { try NoticeMessage(NoticeMessage.notices([long + "x"]).encoded) }
        let texts = (0..<300).map { "notice \($0)" }
        let messages = try NoticeMessage.messages(texts).map { try NoticeMessage($0) }
        #expect(messages.count == 3)
        let read = messages.flatMap { message -> [String] in if case .notices(let texts) = message { texts } else { [] }
        }
        #expect(read == texts)
    }

    @Test("Two sides with the same notices have one summary, whatever their order, and find what differs")
    func digests() {
        let texts = (0..<200).map { "notice \($0)" }
        let (one, other) = (NoticeDigest(texts), NoticeDigest(texts.reversed()))
        #expect(one == other && one.summary?.count == 16)
        #expect(NoticeDigest([]).summary == nil)
        let fewer = NoticeDigest(Array(texts.dropLast()))
        #expect(fewer.summary != one.summary)
        let sent = texts.filter { NoticeDigest.isMissing($0, in: fewer.buckets, of: one.buckets) }
        // The one that is missing, and those of its bucket alone.
        #expect(sent.contains("notice 199") && sent.count < 20)
        #expect(texts.allSatisfy { !NoticeDigest.isMissing($0, in: other.buckets, of: one.buckets) })
    }

    @Test("Revocations are forgotten once the longest grant that they name has ended, and their number has a limit")
    func forgetting() throws {
        let now = UnixTime(seconds: 1_800_000_000)
        func entry(_ user: String, forgetAfter: Int64) -> Revocation {
            Revocation(
                appID: "app", subject: .user(ExactString(user)), issuedBefore: now, sequence: 1,
                forgetAfter: now.adding(forgetAfter), text: "text of \(user) \(forgetAfter)")
        }
        var list = RevocationList()
        var wasNews = [try list.add(entry("a", forgetAfter: 10), now: now)]
        wasNews.append(try list.add(entry("b", forgetAfter: 20), now: now))
        wasNews.append(try list.add(entry("a", forgetAfter: 15), now: now))
        wasNews.append(try list.add(entry("c", forgetAfter: 0), now: now))
        #expect(wasNews == [true, true, true, false])
        #expect(list.texts == ["text of a 15", "text of b 20"])
        #expect(list.holds("text of a 15") && !list.holds("text of a 10"))
        list.forget(now: now.adding(14))
        #expect(list.count == 2)
        list.forget(now: now.adding(15))
        #expect(list.texts == ["text of b 20"])
        for number in 1..<AuthenticationLimits.revocationCount {
            _ = try list.add(entry("user \(number)", forgetAfter: 30), now: now)
        }
        #expect(throws: DocDBError.self) { try list.add(entry("one more", forgetAfter: 30), now: now) }
        // When an old one is forgotten, there is room again.
        let isAdded = try list.add(entry("one more", forgetAfter: 30), now: now.adding(20))
        #expect(isAdded && list.count == AuthenticationLimits.revocationCount)
    }
}
