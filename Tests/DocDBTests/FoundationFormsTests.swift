import DocDB
import DocDBCore
import Foundation
import Testing

@Suite("What DocDB is to Foundation") struct FoundationFormsTests {
    @Test("An error shows its message, with the remedy, where apps show errors")
    func localizedDescription() {
        let error: any Error = DocDBError(.diskFull, "the disk is full; make room")
        #expect(error.localizedDescription == "the disk is full; make room")
    }

    @Test("A time is a date by its wall clock, without the counter")
    func date() {
        // Half a second after 2001-01-01 00:00:00 UTC, where Foundation's reference date is.
        let wall: UInt64 = 978_307_200_500_000_000
        for counter: UInt64 in [0, 1, 0xFFFF] {
            let time = HybridTime(rawValue: wall & ~0xFFFF | counter)
            #expect(abs(time.date.timeIntervalSinceReferenceDate - 0.5) < 0.0001)
        }
    }
}
