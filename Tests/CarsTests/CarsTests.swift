import Testing

@Suite("The cars app, by scripts against a hub", .timeLimit(.minutes(10)))
struct CarsTests {
    @Test("Two users each see what they may; a refusal is shown, an expiry stops replication, a new login resumes it")
    func twoUsers() async throws {
        let hub = try await HubProcess()
        async let ann = hub.runCars(
            "ann",
            """
            limit 300
            login ann-token
            wait dev|ann, logged in
            add VW Golf 1998
            add Toyota Corolla 2019
            wait Fiat Panda 2016 of dev|bob
            # Bob's app writes this one while his login has ended.
            wait Skoda Fabia 2018 of dev|bob
            expect 4 for sale
            search VW
            wait 1 of the make VW
            sell Golf
            wait 0 of the make VW
            search
            wait 3 for sale
            # Written after its own car has left the device, as another actor.
            add Opel Astra 2021
            wait online, all sent
            expect no refused:
            """)
        async let bob = hub.runCars(
            "bob",
            """
            limit 300
            expect nobody is logged in
            login no-such-token
            expect the static provider does not know the token
            expect nobody is logged in
            login bob-token
            wait dev|bob, logged in
            wait Toyota Corolla 2019 of dev|ann
            expect no VW Golf 1998 of dev|ann
            sell Corolla
            wait refused: Toyota Corolla 2019
            wait no Toyota Corolla 2019 of dev|ann
            show
            revert Corolla
            wait no refused:
            wait Toyota Corolla 2019 of dev|ann
            add Fiat Panda 2016
            wait online, all sent
            login bob-for-3-seconds
            wait the login has ended
            wait no online
            expect for sale
            add Skoda Fabia 2018
            wait Skoda Fabia 2018 of dev|bob
            expect 1 to send
            login bob-token
            wait online, all sent
            logout anyway
            wait nobody is logged in
            wait 0 cars are kept
            """)
        for (user, run) in [("ann", try await ann), ("bob", try await bob)] {
            #expect(run.status == 0, "\(user): \(run.output)")
        }
        let shown = try await bob.output
        #expect(shown.contains("| refused: Toyota Corolla 2019 (denied, "))
        #expect(!shown.contains("bob-token"))
    }

    @Test("A login is renewed before it ends, and is there at once when the app starts again")
    func renewal() async throws {
        let hub = try await HubProcess()
        let first = try await hub.runCars(
            "bob",
            """
            limit 300
            renew on
            login bob-for-3-seconds
            wait renewed
            wait online
            renew off
            wait no One moment
            login bob-token
            """)
        #expect(first.status == 0, "\(first.output)")
        let second = try await hub.runCars(
            "bob",
            """
            limit 300
            expect for sale
            expect dev|bob, logged in
            wait online
            offline
            add Fiat Panda 2016
            wait no online
            logout
            expect would be lost
            expect for sale
            logout anyway
            wait 0 cars are kept
            """)
        #expect(second.status == 0, "\(second.output)")
    }

    @Test("A revoked user comes to the login view, and another logs in once what the first has left is removed")
    func revocation() async throws {
        let hub = try await HubProcess()
        let first = try await hub.runCars(
            "shared",
            """
            limit 300
            login bob-token
            add Fiat Panda 2016
            wait online, all sent
            """)
        #expect(first.status == 0, "\(first.output)")
        try await hub.revoke("dev|bob")
        let second = try await hub.runCars(
            "shared",
            """
            limit 300
            wait nobody is logged in
            expect 1 car is kept
            login ann-token
            expect another user's documents
            expect nobody is logged in
            logout anyway
            wait 0 cars are kept
            login ann-token
            wait dev|ann, logged in
            wait Fiat Panda 2016 of dev|bob
            sell Panda
            wait refused: Fiat Panda 2016
            logout anyway
            wait 0 cars are kept
            login ann-token
            wait Fiat Panda 2016 of dev|bob
            """)
        #expect(second.status == 0, "\(second.output)")
    }

    @Test(
        "A script ends with status 1 where something is not as it says, and tells where",
        arguments: [
            ("show\nexpect 0 for sale", "failed: line 2: the screen does not show 0 for sale:\n| Used cars\n"),
            ("limit 1\n\n# nobody\nwait 1 for sale", "failed: line 4: the screen does not show 1 for sale"),
            ("expect no Used cars", "failed: line 1: the screen does not show no Used cars"),
            ("dance\nshow", "! there is no command dance"),
            ("login wrong\nadd VW Golf 1998", "failed: line 2: an alert was not expected: the static provider"),
            ("login wrong", "failed: line 1: an alert was not expected: the static provider"),
            ("sell Golf", "failed: line 1: an alert was not expected: there is no car Golf here"),
            ("add Golf", "failed: line 1: an alert was not expected: a car has a make, a model and a year"),
        ])
    func failures(script: String, message: String) async throws {
        let hub = try await HubProcess()
        let run = try await hub.runCars("ann", script)
        #expect(run.status == 1)
        #expect(run.output.contains(message), "\(run.output)")
    }
}
