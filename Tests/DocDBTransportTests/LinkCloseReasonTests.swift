import DocDBTransport
import Testing

@Suite("LinkCloseReason")
struct LinkCloseReasonTests {
    @Test("The text is cut at a character to what a close frame holds")
    func cutsAtCharacters() {
        let short = LinkCloseReason.normal("bye")
        #expect(short.textBytes == [UInt8]("bye".utf8))
        // 61 characters of two bytes are 122 bytes; the 62nd would end at 124.
        let long = LinkCloseReason.normal(String(repeating: "é", count: 62))
        #expect(long.textBytes == [UInt8](String(repeating: "é", count: 61).utf8))
        let exact = LinkCloseReason.normal(String(repeating: "x", count: 123))
        #expect(exact.textBytes.count == 123)
    }
}
