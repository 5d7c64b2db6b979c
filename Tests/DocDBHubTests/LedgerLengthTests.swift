import DocDBAuth
import DocDBCore
import DocDBHub
import Foundation
import Testing

@Suite("How long a hub's files become")
struct LedgerLengthTests {
    @Test("The file of epochs is written anew with its newest lines, and nothing of them is lost")
    func epochs() throws {
        let directory = FileManager.default.temporaryDirectory.path + "/docdb-ledger-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let files = HubFiles(directory: directory)
        try files.prepare()
        func permissions(_ predicate: String) throws -> BoundPermissions {
            let rules = Rules.queriesByCollection([ExactString("cars"): [predicate]])
            return try Permissions(read: rules, write: .nothing).bound(to: PermissionBinding(userID: "dev|ada"))
        }
        let ledger = try HubLedger(files, leastEpochLineCount: 20)
        _ = try ledger.epoch(of: "dev|bob", permissions("true"))
        for number in 1...100 {
            // One user's rights change with each login; another's never do.
            #expect(try ledger.epoch(of: "dev|ada", permissions("price < \(number)")).number == Int64(number))
            #expect(try HubFiles.lines(files.epochs).count <= 20)
        }
        let reopened = try HubLedger(files, leastEpochLineCount: 20)
        #expect(try reopened.epoch(of: "dev|ada", permissions("price < 100")).number == 100)
        #expect(try reopened.epoch(of: "dev|bob", permissions("true")).number == 1)
        #expect(try reopened.epoch(of: "dev|ada", permissions("price < 1")).number == 101)
        // With many users there may be four lines each.
        for user in 0..<30 { _ = try reopened.epoch(of: "dev|\(user)", permissions("true")) }
        #expect(try HubLedger(files).epoch(of: "dev|29", permissions("false")).number == 2)
    }
}
