// Made by make-token-vectors.py with Python's `cryptography`; see there. Not to be edited.

/// Tokens, grants and proofs that another implementation made.
enum TokenVectors {
    /// The second that all of them were made for.
    static let now: Int64 = 1800000000
    static let keySet = #"""
        {"keys":[{"e":"AQAB","kid":"rsa-1","kty":"RSA","n":"x6IuldzOrf23WcjajdVGZaGXRyazwBoXDT1QIL8MIKpRscbL\#
        HAYVSlnNDG_NTMUXsY0M4Azbylw-iXdqUFb45oNRxltrCkLP8Z2j1bq4p3yveT0ofD74x0kIjZmYtnVgOzXzLhCyJQPGpOFaNoz4\#
        6n-naRfVu8lUwljcj8wsPfaByTdwOubJ5nvI7rhyExVIlsA7CFoqusYuNWEvH7Y-vgpN75xoWCv0onKl3CsfyzpRI6a7Q80nYwrx\#
        o2dJ4DleW3pTkulREJxTrpI30F4E7UgKYjfeu9VZM7Q6P10cU8eZFHrV8M4tZgq6IVdiBZ1j24ywJV-o4c-_a70ESVdAvQ","use\#
        ":"sig"},{"crv":"P-256","kid":"ec-1","kty":"EC","x":"glho1jih2on_aDNHjFvu8Hx9OcEPSoCyGRSWwjRRv_k","y\#
        ":"RsK6gBXp-0PZwYM8t3v3DFvKyF7qRnLpjZgNSZJ7sUY"},{"alg":"EdDSA","crv":"Ed25519","kid":"ed-1","kty":"\#
        OKP","x":"A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg"},{"e":"AQAB","kid":"encryption-1","kty":"RSA"\#
        ,"n":"40vBC43djjsYfOlaZmvOkhEeI-kKyyqE8aU3ajH0-ZyzWZbvOLlRBPUN94bMx7VIFtbj824hHuicv5egHAKe9IxVSb6cHu\#
        SaWN-fym8c9YuscqT1DTRItQfk_v2FaKN5XFNHfPBAWd4o055uVfLZTB5yxbS09w-swslNMa-q4es","use":"enc"},{"crv":"\#
        P-384","kid":"ec-2","kty":"EC"},{"kid":"x","kty":"unheard-of"}]}
        """#
    static let secretSet = #"""
        {"keys":[{"k":"ZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXp7fH1-f4CBgoM","kid":"hs-1","kty":"oct"}]}
        """#
    static let weakSet = #"""
        {"keys":[{"e":"AQAB","kid":"rsa-1","kty":"RSA","n":"40vBC43djjsYfOlaZmvOkhEeI-kKyyqE8aU3ajH0-ZyzWZbv\#
        OLlRBPUN94bMx7VIFtbj824hHuicv5egHAKe9IxVSb6cHuSaWN-fym8c9YuscqT1DTRItQfk_v2FaKN5XFNHfPBAWd4o055uVfLZ\#
        TB5yxbS09w-swslNMa-q4es","use":"sig"}]}
        """#
    static let oddSet = #"""
        {"keys":[{"e":"AQAB","kid":"rsa-1","kty":"RSA","n":"Wt0f4W6SPKST_SU6sliDpWocIh3MkLe2lNahL2MEllcRjAK2\#
        wJtmjUZxOR8FMjJzgM3U8bkYy5m8j_Nf6usF3JOoFOyOK-bId2wkdyXFJIc49suzAyqIQ9pNXmrQ6mAqr_fQJT4YuAdOOwucar-l\#
        1CkhLApg2akXSarN1UcHEhXzb9XTgBd6AZZWhaRPSXd_sk_U5FPMcvKjZ8_vGe8xQhjyw8BAVnUSrCyX1Qk6Kg2e-RjAg6HeIaaG\#
        cClSsx8IMV9W8qqaYKxTMggQhPuQ1dBgdAt-KHZ3OoEmdQWgX5hGzBl_Ubz1N_gSH_Y6Zy9gVpqGjJFZxPfSMhbQ_tJfKw","use\#
        ":"sig"}]}
        """#
    static let mixedSet = #"""
        {"keys":[{"k":"ZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXp7fH1-f4CBgoM","kid":"hs-1","kty":"oct"},{"crv":"P-256"\#
        ,"kid":"ec-1","kty":"EC","x":"glho1jih2on_aDNHjFvu8Hx9OcEPSoCyGRSWwjRRv_k","y":"RsK6gBXp-0PZwYM8t3v3\#
        DFvKyF7qRnLpjZgNSZJ7sUY"}]}
        """#
    static let rs256 = #"""
        eyJhbGciOiJSUzI1NiIsImtpZCI6InJzYS0xIiwidHlwIjoiSldUIn0.eyJhdWQiOlsib3RoZXIiLCJjYXJzLWFwcCJdLCJhenAi\#
        OiJjYXJzLWNsaWVudCIsImVtYWlsX3ZlcmlmaWVkIjp0cnVlLCJleHAiOjE4MDAwMDM2MDAsImh0dHBzOi8vY2Fycy5leGFtcGxl\#
        L3Blcm1pc3Npb25zIjp7InJlYWQiOnsiZXZlcnl0aGluZyI6dHJ1ZX19LCJpYXQiOjE3OTk5OTk5OTAsImlzcyI6Imh0dHBzOi8v\#
        aXNzdWVyLmV4YW1wbGUvIiwibmJmIjoxNzk5OTk5OTkwLCJyZWFsbV9hY2Nlc3MiOnsicm9sZXMiOlsiZGVhbGVyIiwidmlld2Vy\#
        Il19LCJzY29wZSI6Im9wZW5pZCBjYXJzIHByb2ZpbGUiLCJzdWIiOiJ1c2VyLTEiLCJ0ZW5hbnQiOiJ0LTcifQ.KLah4erqlAqJb\#
        _Xo0lQDo_Te2qCPRldVJD5phOr0uCrnfMsbS4gWbesSNvXEYfZ9piSvmrwp-VM2mzrfL158pYs5o5fwJCBTZZED48V4bNUxeB3Nh\#
        qUnIwOsHRKMckI3yR4pl4jD-X-z4-wyObKLFoS0qDWHagZ69oPRFHims8L3e0zWnMNz9LnWx9SFsCVwoPOmZz1BY6kA0lhYQ_DKZ\#
        jk2chu5kUT_NbitMxR3yph7T6Z51QjCzmto8Fe-IKVE34MYblpz46tP5NOkGAmN9GQcMY02TzOdU2f1h-7VSv4yxKvUwAR6we0O_\#
        gniQ92KFIBYTbgfFENvGGm9Tyi-Sg
        """#
    static let ps256 = #"""
        eyJhbGciOiJQUzI1NiIsImtpZCI6InJzYS0xIiwidHlwIjoiSldUIn0.eyJhdWQiOlsib3RoZXIiLCJjYXJzLWFwcCJdLCJhenAi\#
        OiJjYXJzLWNsaWVudCIsImVtYWlsX3ZlcmlmaWVkIjp0cnVlLCJleHAiOjE4MDAwMDM2MDAsImh0dHBzOi8vY2Fycy5leGFtcGxl\#
        L3Blcm1pc3Npb25zIjp7InJlYWQiOnsiZXZlcnl0aGluZyI6dHJ1ZX19LCJpYXQiOjE3OTk5OTk5OTAsImlzcyI6Imh0dHBzOi8v\#
        aXNzdWVyLmV4YW1wbGUvIiwibmJmIjoxNzk5OTk5OTkwLCJyZWFsbV9hY2Nlc3MiOnsicm9sZXMiOlsiZGVhbGVyIiwidmlld2Vy\#
        Il19LCJzY29wZSI6Im9wZW5pZCBjYXJzIHByb2ZpbGUiLCJzdWIiOiJ1c2VyLTEiLCJ0ZW5hbnQiOiJ0LTcifQ.jVzar3tkizieC\#
        55UNeoo21BVLd54j3B5KEQ8De27y78k-kXCd3TMqqcLMocH6d6TrpZeZEfwkrkFa-BHqARxpQvq1AnPCFR25uC0scjOeoF_jucd-\#
        Cup8oFnXZ2aGUNjex5LSvOJdcXAHWJaggwj5fl1fVk7kmyif-obY_s1Bpx6yZTBliYchbn_A0UcfpYzQQgMarXbCnj2iCT32DK7Z\#
        FZiCT2KS2dN2nc-JrtRnFIx9LSa6whIDbyqSMz0Qd4ICObTSn0tNCLT_bLoEl7D7tc0Aghwu_89ZPObR15G9mv3OYy_Zl6LYoky3\#
        ybPC49nRQrohwpc0k2pxTFJRQRoTg
        """#
    static let es256 = #"""
        eyJhbGciOiJFUzI1NiIsImtpZCI6ImVjLTEiLCJ0eXAiOiJhdCtqd3QifQ.eyJhdWQiOlsib3RoZXIiLCJjYXJzLWFwcCJdLCJhe\#
        nAiOiJjYXJzLWNsaWVudCIsImVtYWlsX3ZlcmlmaWVkIjp0cnVlLCJleHAiOjE4MDAwMDM2MDAsImh0dHBzOi8vY2Fycy5leGFtc\#
        GxlL3Blcm1pc3Npb25zIjp7InJlYWQiOnsiZXZlcnl0aGluZyI6dHJ1ZX19LCJpYXQiOjE3OTk5OTk5OTAsImlzcyI6Imh0dHBzO\#
        i8vaXNzdWVyLmV4YW1wbGUvIiwibmJmIjoxNzk5OTk5OTkwLCJyZWFsbV9hY2Nlc3MiOnsicm9sZXMiOlsiZGVhbGVyIiwidmlld\#
        2VyIl19LCJzY29wZSI6Im9wZW5pZCBjYXJzIHByb2ZpbGUiLCJzdWIiOiJ1c2VyLTEiLCJ0ZW5hbnQiOiJ0LTcifQ.sATxFChBum\#
        bXOr2gFqVjZRxvAmI6l6Ayz52u5PrMayl6vowLSHeFgIayDGVlZgAFD-bcJNeFCqBek5WmAtx1Kg
        """#
    static let edDSA = #"""
        eyJhbGciOiJFZERTQSIsImtpZCI6ImVkLTEifQ.eyJhdWQiOlsib3RoZXIiLCJjYXJzLWFwcCJdLCJhenAiOiJjYXJzLWNsaWVud\#
        CIsImVtYWlsX3ZlcmlmaWVkIjp0cnVlLCJleHAiOjE4MDAwMDM2MDAsImh0dHBzOi8vY2Fycy5leGFtcGxlL3Blcm1pc3Npb25zI\#
        jp7InJlYWQiOnsiZXZlcnl0aGluZyI6dHJ1ZX19LCJpYXQiOjE3OTk5OTk5OTAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLmV4YW1wb\#
        GUvIiwibmJmIjoxNzk5OTk5OTkwLCJyZWFsbV9hY2Nlc3MiOnsicm9sZXMiOlsiZGVhbGVyIiwidmlld2VyIl19LCJzY29wZSI6I\#
        m9wZW5pZCBjYXJzIHByb2ZpbGUiLCJzdWIiOiJ1c2VyLTEiLCJ0ZW5hbnQiOiJ0LTcifQ.fmxx_Ialsk0TDjuXvZ2fSCH7tbDAw9\#
        0bmgEUu5K8LkJCKmS1NhxXqPMTk91V-Dd-7nYmpSQNYWu_v0ANwN-7Ag
        """#
    static let hs256 = #"""
        eyJhbGciOiJIUzI1NiIsImtpZCI6ImhzLTEiLCJ0eXAiOiJKV1QifQ.eyJhdWQiOlsib3RoZXIiLCJjYXJzLWFwcCJdLCJhenAiO\#
        iJjYXJzLWNsaWVudCIsImVtYWlsX3ZlcmlmaWVkIjp0cnVlLCJleHAiOjE4MDAwMDM2MDAsImh0dHBzOi8vY2Fycy5leGFtcGxlL\#
        3Blcm1pc3Npb25zIjp7InJlYWQiOnsiZXZlcnl0aGluZyI6dHJ1ZX19LCJpYXQiOjE3OTk5OTk5OTAsImlzcyI6Imh0dHBzOi8va\#
        XNzdWVyLmV4YW1wbGUvIiwibmJmIjoxNzk5OTk5OTkwLCJyZWFsbV9hY2Nlc3MiOnsicm9sZXMiOlsiZGVhbGVyIiwidmlld2VyI\#
        l19LCJzY29wZSI6Im9wZW5pZCBjYXJzIHByb2ZpbGUiLCJzdWIiOiJ1c2VyLTEiLCJ0ZW5hbnQiOiJ0LTcifQ.hAVRf9zH0XUGG4\#
        u1i7tQWGzRbyzwx0RbMos2U2GvBXc
        """#
    static let confusionPem = #"""
        eyJhbGciOiJIUzI1NiIsImtpZCI6InJzYS0xIn0.eyJhdWQiOlsib3RoZXIiLCJjYXJzLWFwcCJdLCJhenAiOiJjYXJzLWNsaWVu\#
        dCIsImVtYWlsX3ZlcmlmaWVkIjp0cnVlLCJleHAiOjE4MDAwMDM2MDAsImh0dHBzOi8vY2Fycy5leGFtcGxlL3Blcm1pc3Npb25z\#
        Ijp7InJlYWQiOnsiZXZlcnl0aGluZyI6dHJ1ZX19LCJpYXQiOjE3OTk5OTk5OTAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLmV4YW1w\#
        bGUvIiwibmJmIjoxNzk5OTk5OTkwLCJyZWFsbV9hY2Nlc3MiOnsicm9sZXMiOlsiZGVhbGVyIiwidmlld2VyIl19LCJzY29wZSI6\#
        Im9wZW5pZCBjYXJzIHByb2ZpbGUiLCJzdWIiOiJ1c2VyLTEiLCJ0ZW5hbnQiOiJ0LTcifQ.7-wC7UkgdYaTv3KDVbwqYCfskwbgQ\#
        L0KKt3XN2X9rvY
        """#
    static let confusionDer = #"""
        eyJhbGciOiJIUzI1NiIsImtpZCI6InJzYS0xIn0.eyJhdWQiOlsib3RoZXIiLCJjYXJzLWFwcCJdLCJhenAiOiJjYXJzLWNsaWVu\#
        dCIsImVtYWlsX3ZlcmlmaWVkIjp0cnVlLCJleHAiOjE4MDAwMDM2MDAsImh0dHBzOi8vY2Fycy5leGFtcGxlL3Blcm1pc3Npb25z\#
        Ijp7InJlYWQiOnsiZXZlcnl0aGluZyI6dHJ1ZX19LCJpYXQiOjE3OTk5OTk5OTAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLmV4YW1w\#
        bGUvIiwibmJmIjoxNzk5OTk5OTkwLCJyZWFsbV9hY2Nlc3MiOnsicm9sZXMiOlsiZGVhbGVyIiwidmlld2VyIl19LCJzY29wZSI6\#
        Im9wZW5pZCBjYXJzIHByb2ZpbGUiLCJzdWIiOiJ1c2VyLTEiLCJ0ZW5hbnQiOiJ0LTcifQ.g7Bt_ZYKmUMHVDx2sjrBHraBqu1Pd\#
        SixkQblT8OZ9OA
        """#
    static let confusionModulus = #"""
        eyJhbGciOiJIUzI1NiIsImtpZCI6InJzYS0xIn0.eyJhdWQiOlsib3RoZXIiLCJjYXJzLWFwcCJdLCJhenAiOiJjYXJzLWNsaWVu\#
        dCIsImVtYWlsX3ZlcmlmaWVkIjp0cnVlLCJleHAiOjE4MDAwMDM2MDAsImh0dHBzOi8vY2Fycy5leGFtcGxlL3Blcm1pc3Npb25z\#
        Ijp7InJlYWQiOnsiZXZlcnl0aGluZyI6dHJ1ZX19LCJpYXQiOjE3OTk5OTk5OTAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLmV4YW1w\#
        bGUvIiwibmJmIjoxNzk5OTk5OTkwLCJyZWFsbV9hY2Nlc3MiOnsicm9sZXMiOlsiZGVhbGVyIiwidmlld2VyIl19LCJzY29wZSI6\#
        Im9wZW5pZCBjYXJzIHByb2ZpbGUiLCJzdWIiOiJ1c2VyLTEiLCJ0ZW5hbnQiOiJ0LTcifQ.ABt69iw7gefOwfOES3Mkxli5EVJ9j\#
        eMSYclm4CPPzxs
        """#
    static let otherKey = #"""
        eyJhbGciOiJFUzI1NiIsImtpZCI6ImVjLTEifQ.eyJhdWQiOlsib3RoZXIiLCJjYXJzLWFwcCJdLCJhenAiOiJjYXJzLWNsaWVud\#
        CIsImVtYWlsX3ZlcmlmaWVkIjp0cnVlLCJleHAiOjE4MDAwMDM2MDAsImh0dHBzOi8vY2Fycy5leGFtcGxlL3Blcm1pc3Npb25zI\#
        jp7InJlYWQiOnsiZXZlcnl0aGluZyI6dHJ1ZX19LCJpYXQiOjE3OTk5OTk5OTAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLmV4YW1wb\#
        GUvIiwibmJmIjoxNzk5OTk5OTkwLCJyZWFsbV9hY2Nlc3MiOnsicm9sZXMiOlsiZGVhbGVyIiwidmlld2VyIl19LCJzY29wZSI6I\#
        m9wZW5pZCBjYXJzIHByb2ZpbGUiLCJzdWIiOiJ1c2VyLTEiLCJ0ZW5hbnQiOiJ0LTcifQ.6we__dRi7YqBkyfSHf6xjTsKYZwPF7\#
        wZ-QDd02s4FM5SKp5yqpyIGvCQO6pSe2lN8ocw7vqR-AtseDjSNRE0Hg
        """#
    static let pssLongSalt = #"""
        eyJhbGciOiJQUzI1NiIsImtpZCI6InJzYS0xIn0.eyJhdWQiOlsib3RoZXIiLCJjYXJzLWFwcCJdLCJhenAiOiJjYXJzLWNsaWVu\#
        dCIsImVtYWlsX3ZlcmlmaWVkIjp0cnVlLCJleHAiOjE4MDAwMDM2MDAsImh0dHBzOi8vY2Fycy5leGFtcGxlL3Blcm1pc3Npb25z\#
        Ijp7InJlYWQiOnsiZXZlcnl0aGluZyI6dHJ1ZX19LCJpYXQiOjE3OTk5OTk5OTAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLmV4YW1w\#
        bGUvIiwibmJmIjoxNzk5OTk5OTkwLCJyZWFsbV9hY2Nlc3MiOnsicm9sZXMiOlsiZGVhbGVyIiwidmlld2VyIl19LCJzY29wZSI6\#
        Im9wZW5pZCBjYXJzIHByb2ZpbGUiLCJzdWIiOiJ1c2VyLTEiLCJ0ZW5hbnQiOiJ0LTcifQ.ELqPI6svas3xumodvrTjHgyQFZaim\#
        -_Ltti99C3PuuFjdt_fTFV4OYPt6nX-Hjx5bfB_Cxem25vgyn7y3RKpny31mx5IexBcMH4LZ5tGjnEKNYcgkpztAjo_YaCij65fw\#
        xotvLwIE-3ziIgc5rVvLG3chlO8oILN7cyT_A9WPleUc2KEnQ9a8Davc0V8v7717PAWmVnA__dHfr--qDtFBoKFNboHQ9iOpcOt3\#
        rW-A0qePU1wqsykcvh6irP2et6F0Vdp0EJ21G6jSnisLVZkzdIfB4Y5rkq1jCm1xLWOsjbuAzy-l4RK91jNaw8ul3IDKlZ8GVQnf\#
        YQwPt3Um5E3Nw
        """#
    static let rs256AsPS256 = #"""
        eyJhbGciOiJQUzI1NiIsImtpZCI6InJzYS0xIn0.eyJhdWQiOlsib3RoZXIiLCJjYXJzLWFwcCJdLCJhenAiOiJjYXJzLWNsaWVu\#
        dCIsImVtYWlsX3ZlcmlmaWVkIjp0cnVlLCJleHAiOjE4MDAwMDM2MDAsImh0dHBzOi8vY2Fycy5leGFtcGxlL3Blcm1pc3Npb25z\#
        Ijp7InJlYWQiOnsiZXZlcnl0aGluZyI6dHJ1ZX19LCJpYXQiOjE3OTk5OTk5OTAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLmV4YW1w\#
        bGUvIiwibmJmIjoxNzk5OTk5OTkwLCJyZWFsbV9hY2Nlc3MiOnsicm9sZXMiOlsiZGVhbGVyIiwidmlld2VyIl19LCJzY29wZSI6\#
        Im9wZW5pZCBjYXJzIHByb2ZpbGUiLCJzdWIiOiJ1c2VyLTEiLCJ0ZW5hbnQiOiJ0LTcifQ.foo_mE7UVxfywm1yIm_pSjWeQAqzB\#
        Gy5ccWH-IG5KVGaglgqFOvJS00U_Qa80UEhlffv45k7orM9QBSw82kp3vw1_KZEKErLtzSZvbxV6FuY2L1Cv6slr-2y_xZ4ZULSo\#
        OiTX4GMQiYJ1rUv1mf0-PdqdT2zUxfqe6AkAeD8a9S9MaIC54Y0gvS2CHqbMFtGDnvd_zmRdZ2QHTD349UmEJP1aw4SwsLtunFYF\#
        tNIfVio57x_ckpYtw9o4PsUGVSDNMKM-0G2HHvMeQ4WrhKnNdZrGP7ZkiwT5prwd_Q0eXhFy_W0ePHmHLxUbtvHpp8KfHCA3aeXW\#
        iPOEORAJWn7cQ
        """#
    static let es256Der = #"""
        eyJhbGciOiJFUzI1NiIsImtpZCI6ImVjLTEifQ.eyJhdWQiOlsib3RoZXIiLCJjYXJzLWFwcCJdLCJhenAiOiJjYXJzLWNsaWVud\#
        CIsImVtYWlsX3ZlcmlmaWVkIjp0cnVlLCJleHAiOjE4MDAwMDM2MDAsImh0dHBzOi8vY2Fycy5leGFtcGxlL3Blcm1pc3Npb25zI\#
        jp7InJlYWQiOnsiZXZlcnl0aGluZyI6dHJ1ZX19LCJpYXQiOjE3OTk5OTk5OTAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLmV4YW1wb\#
        GUvIiwibmJmIjoxNzk5OTk5OTkwLCJyZWFsbV9hY2Nlc3MiOnsicm9sZXMiOlsiZGVhbGVyIiwidmlld2VyIl19LCJzY29wZSI6I\#
        m9wZW5pZCBjYXJzIHByb2ZpbGUiLCJzdWIiOiJ1c2VyLTEiLCJ0ZW5hbnQiOiJ0LTcifQ.MEYCIQCZ7jWg6cdShGxF1BV_ol3F1b\#
        4uaQPsbnFarOEQUNYijQIhALul-AojdGRSR1lGNAzA-DNAcYc1wPDccwfKYjNe2qVQ
        """#
    static let embeddedKey = #"""
        eyJhbGciOiJFZERTQSIsImprdSI6Imh0dHBzOi8vYXR0YWNrZXIuZXhhbXBsZS9rZXlzIiwiandrIjp7ImNydiI6IkVkMjU1MTki\#
        LCJrdHkiOiJPS1AiLCJ4IjoiTzJvbnZNNjJwQzFpbzZqUUttOE5jMlV5RlhjZDRrT21Pc0JJb1l0WjJpayJ9LCJraWQiOiJlZC0x\#
        IiwieDVjIjpbIkFBIl0sIng1dSI6Imh0dHBzOi8vYXR0YWNrZXIuZXhhbXBsZS94In0.eyJhdWQiOlsib3RoZXIiLCJjYXJzLWFw\#
        cCJdLCJhenAiOiJjYXJzLWNsaWVudCIsImVtYWlsX3ZlcmlmaWVkIjp0cnVlLCJleHAiOjE4MDAwMDM2MDAsImh0dHBzOi8vY2Fy\#
        cy5leGFtcGxlL3Blcm1pc3Npb25zIjp7InJlYWQiOnsiZXZlcnl0aGluZyI6dHJ1ZX19LCJpYXQiOjE3OTk5OTk5OTAsImlzcyI6\#
        Imh0dHBzOi8vaXNzdWVyLmV4YW1wbGUvIiwibmJmIjoxNzk5OTk5OTkwLCJyZWFsbV9hY2Nlc3MiOnsicm9sZXMiOlsiZGVhbGVy\#
        Iiwidmlld2VyIl19LCJzY29wZSI6Im9wZW5pZCBjYXJzIHByb2ZpbGUiLCJzdWIiOiJ1c2VyLTEiLCJ0ZW5hbnQiOiJ0LTcifQ.y\#
        DR_mhcStDB_l7F9FImlC_9npggaRr2ifjszUCL_TwKgOGttkWtFdBZfxmEJ9PJUVGyUfI8kwKxIjM94PAjMBQ
        """#
    static let embeddedKeyIgnored = #"""
        eyJhbGciOiJFZERTQSIsImprdSI6Imh0dHBzOi8vYXR0YWNrZXIuZXhhbXBsZS9rZXlzIiwia2lkIjoiZWQtMSIsIng1dCI6IkFB\#
        In0.eyJhdWQiOlsib3RoZXIiLCJjYXJzLWFwcCJdLCJhenAiOiJjYXJzLWNsaWVudCIsImVtYWlsX3ZlcmlmaWVkIjp0cnVlLCJl\#
        eHAiOjE4MDAwMDM2MDAsImh0dHBzOi8vY2Fycy5leGFtcGxlL3Blcm1pc3Npb25zIjp7InJlYWQiOnsiZXZlcnl0aGluZyI6dHJ1\#
        ZX19LCJpYXQiOjE3OTk5OTk5OTAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLmV4YW1wbGUvIiwibmJmIjoxNzk5OTk5OTkwLCJyZWFs\#
        bV9hY2Nlc3MiOnsicm9sZXMiOlsiZGVhbGVyIiwidmlld2VyIl19LCJzY29wZSI6Im9wZW5pZCBjYXJzIHByb2ZpbGUiLCJzdWIi\#
        OiJ1c2VyLTEiLCJ0ZW5hbnQiOiJ0LTcifQ.p8JFoHZiB0hD9gqS6EAJtZb7SlMw6xjFx1pVZDVlziu9YFE9grApxpUIeh3ykavlc\#
        19l-C9fyTdqamrvth-GBg
        """#
    static let rootKey = #"""
        8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c
        """#
    static let hubKey = #"""
        8139770ea87d175f56a35466c34c7ecccb8d8a91b4ee37a25df60f5b8fc9b394
        """#
    static let peerKey = #"""
        ed4928c628d1c2c6eae90338905995612959273a5c63f93636c14614ac8737d1
        """#
    static let otherKeyBytes = #"""
        ca93ac1705187071d67b83c7ff0efe8108e8ec4530575d7726879333dbdabe7c
        """#
    static let hubThumbprint = #"""
        aVBtapLd11SUVKIMGJfPzOEDuN0sXcmzJQNVT-_sKEU
        """#
    static let certificate = #"""
        eyJhbGciOiJFZERTQSIsImtpZCI6IlVERFJlT1psMWlwWEFmcDl3WXNtMTNzREJNSzVvZy0tUVdkQmp6dWY2bzQiLCJ0eXAiOiJk\#
        b2NkYi1odWItY2VydGlmaWNhdGUrand0In0.eyJhdWQiOiJjYXJzLWFwcCIsImNuZiI6eyJqd2siOnsiY3J2IjoiRWQyNTUxOSIs\#
        Imt0eSI6Ik9LUCIsIngiOiJnVGwzRHFoOUYxOVdvMVJtdzB4LXpNdU5pcEcwN2plaVhmWVBXNF9KczVRIn19LCJleHAiOjE4MDAx\#
        MDAwMDAsImlhdCI6MTc5OTk5OTkwMCwibmJmIjoxNzk5OTk5OTAwLCJ1c2VzIjpbInNpZ24iLCJwZWVyIl19.SYhL0YHUfXO-sK2\#
        x90YW9ZfJyJ4z7D_Qkf7FyUxg7iUqwONnmRz0pzOyPqxGRUIDEsfObYQZED42N3AbVukUCg
        """#
    static let permissionsHash = #"""
        16a987ae6ec8a89b364c34effbe03ff25005072cd9ba77ab8fbd82c2c1fa2cbe
        """#
    static let grant = #"""
        eyJhbGciOiJFZERTQSIsImtpZCI6ImFWQnRhcExkMTFTVVZLSU1HSmZQek9FRHVOMHNYY216SlFOVlQtX3NLRVUiLCJ0eXAiOiJk\#
        b2NkYi1ncmFudCtqd3QifQ.eyJhdWQiOiJjYXJzLWFwcCIsImNsaWVudCI6eyJuYW1lIjoiQWRhIn0sImNuZiI6eyJqd2siOnsiY\#
        3J2IjoiRWQyNTUxOSIsImt0eSI6Ik9LUCIsIngiOiI3VWtveGlqUndzYnE2UU00a0ZtVllTbFpKenBjWV9rMk5zRkdGS3lITjlFI\#
        n19LCJlcG9jaCI6MywiZXhwIjoxODAwMDAwMDYwLCJpYXQiOjE4MDAwMDAwMDAsImlzcyI6ImRvY2RiLWh1YiIsImp0aSI6ImdyY\#
        W50LTEiLCJwZXJtaXNzaW9ucyI6eyJyZWFkIjp7ImV2ZXJ5dGhpbmciOnRydWV9LCJ3cml0ZSI6eyJxdWVyaWVzQnlDb2xsZWN0a\#
        W9uIjp7ImNhcnMiOlsib3duZXIgPT0gJ2F1dGh8dXNlci0xJyAmJiBzdGF0ZSAhPSAnc29sZCciXX19fSwic3ViIjoiYXV0aHx1c\#
        2VyLTEifQ.o_FLArh_JsWcHTwo4hfS7etjEuE7O0_5nh_63zK-bmqlG7GS5NEXgPKPNCgTNTHGOd95qR6UigJ5zf4Jd9XjBA
        """#
    static let revocation = #"""
        eyJhbGciOiJFZERTQSIsImtpZCI6ImFWQnRhcExkMTFTVVZLSU1HSmZQek9FRHVOMHNYY216SlFOVlQtX3NLRVUiLCJ0eXAiOiJk\#
        b2NkYi1yZXZvY2F0aW9uK2p3dCJ9.eyJhdWQiOiJjYXJzLWFwcCIsImV4cCI6MTgwMDAwOTAwMCwiaWF0IjoxODAwMDAwMDAwLCJ\#
        pc3N1ZWRCZWZvcmUiOjE4MDAwMDAwMDEsInNlcSI6Nywic3ViIjoiYXV0aHx1c2VyLTEifQ.sQD_Fjml6cK-fR7Xr3GnXwnjmkUc\#
        cM1AI8RzgVQe8aIja5aMkQO7FqpZcwbVH9zvzV-7RgcUx41k1GqNSN29CQ
        """#
    static let initiatorProof = #"""
        1d2c219743815e913a88f487cc6ae3dc95d51872859c78fc58a939e251e0d8f63faf8c83b812c38cc0329e077948a2871ccf\#
        5c709bc7c57b0006601280a09301
        """#
    static let responderProof = #"""
        b831236f7e8b321b7d4afbe30fb404ae15dec63f965e8fa93ed6e1f1693d56b708c1e663cdefa0a5e97044eea1bd8a3c8247\#
        8ec07636b476a3e272ac17e4090e
        """#
    static let loginProof = #"""
        b5660f2616c17cef011363302f0e539520b6eb1bf38d4dfc3a68e31853bbafc67a56aa95c740169def5e7b95b867010d9ac8\#
        3dd76985934af2fda94aab9e4a05
        """#
    static let actor = #"""
        1a8ad646e6028ad67f1473bf4eb9adea
        """#
    static let webhookBody = #"""
        {"appID":"cars-app","provider":"hook","token":"to\"ken"}
        """#
    static let webhookSignature = #"""
        t=1800000000,v1=afc1361123b0b336482c3ace63a251bb5cd1b11b8dd7090789f4fcc356441b84
        """#
}
