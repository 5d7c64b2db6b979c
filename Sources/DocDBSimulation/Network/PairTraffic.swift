/// What two peers have said to each other.
struct PairTraffic {
    /// The bytes of all frames about documents: interests, snapshots, reconciliations, acknowledgements, totals.
    private(set) var byteCount = 0
    private var helloCount = 0

    /// How many sessions were begun.
    var sessionCount: Int { (helloCount + 1) / 2 }

    mutating func count(_ frame: [UInt8]) {
        // A plain frame is a zero, the head of an array, and the message's number; others are too short to be compressed.
        guard frame.count > 2, frame[0] == 0 else { return byteCount += frame.count }
        switch frame[2] {
        case 0: helloCount += 1
        case 8...16: byteCount += frame.count
        default: break
        }
    }
}
