import Testing

@Suite("What vendors' own suites test has its test here, or a reason why not")
struct VendorCaseIndexTests {
    /// A behaviour that at least one vendor's own suite tests.
    struct Case: Sendable {
        var number: Int
        var behaviour: String
        /// Titles, or telling parts of them, of the tests that assert it.
        var titles: [String] = []
        /// Why no test asserts it. "GAP:" in front where one should.
        var reason: String?

        init(_ number: Int, _ behaviour: String, _ titles: String...) {
            (self.number, self.behaviour, self.titles) = (number, behaviour, titles)
        }

        init(_ number: Int, _ behaviour: String, without reason: String) {
            (self.number, self.behaviour, self.reason) = (number, behaviour, reason)
        }
    }

    static let cases: [Case] = [
        signing, requests, parsing, caching, concurrency, failover, discovery, ranking, interface, routing, transport,
    ].flatMap { $0 }

    private static let signing: [Case] = [
        Case(
            1,
            "MD5 signatures of one name and of several, none without a secret",
            "5 (1), (6): vendor vectors",
            "5 (1): our vectors of version 1",
            "5 (1), (2): signed queries are those of the samples",
            "5 (7): version 2 asks for one family"
        ),
        Case(
            2,
            "a signature ends ten minutes from now, by the service's clock",
            "5 (1), (2): signed queries are those of the samples",
            "5 (2): an offset that was learnt moves the time",
            "5 (2): a signature refused for its time",
            "5 (2): a query that had expired"
        ),
        Case(
            3,
            "what an HMAC covers, in which order, and what stays outside an encrypted query",
            "5 (3): our vectors of version 2",
            "5 (3), (4): our vectors of encrypted questions",
            "5 (3): in an encrypted query"
        ),
        Case(
            4,
            "AES there and back; a wrong key, a short vector, odd digits",
            "5 (4): what was encrypted is read again",
            "5 (4): every prefix is refused",
            "5 (4): GCM refuses another key",
            "5 (4): our vectors of encrypted answers",
            "odd numbers of digits and what is no digit are refused"
        ),
        Case(
            5,
            "encrypted questions for A, AAAA and both, one name and several (AES; DES is not offered)",
            "5 (5), (7): with a token names go in clear",
            "5 (5): encrypted queries have id and cipher",
            "5 (4), (5): our vectors, both ways",
            "every way of asking: one name and several"
        ),
        Case(
            6,
            "known answers of hexadecimal, Base64 and MD5",
            "5 (6): known octets and texts, both ways",
            "5 (6): the vectors of RFC 4648",
            "5 (1), (6): vendor vectors"
        ),
    ]

    private static let requests: [Case] = [
        Case(
            7,
            "the query for each family; batches up to the limit, one more, and none",
            "5 (7): version 2 asks for one family",
            "5 (7): several names are one request",
            "5 (7): six names are refused",
            "5 (7): eight names are one request",
            "5 (7): twenty names are warmed with four queries"
        ),
        Case(
            8,
            "custom parameters beside the question, bad ones found out",
            "5 (8): custom parameters stand beside the question",
            "5 (8): custom parameters that the vendor would drop"
        ),
        Case(
            9,
            "HTTPS has its port, a service's IPv6 address its brackets",
            "5 (9): addresses of both families are dialled",
            "5 (9), (37): a region's entry is asked by its address",
            "5 (9): with an address in the URL"
        ),
        Case(
            10,
            "Host without a default port and with any other, the query as it was, one User-Agent or none",
            "a mapped name is reached under its own name, and the connection is kept",
            "nothing is added that the caller did not ask for",
            "path and query stay byte for byte",
            "the client's are sent, the host's own go before them",
            "over the wire: default, overridden, removed"
        ),
    ]

    private static let parsing: [Case] = [
        Case(
            11,
            "a whole answer, one that lacks something, and one that is none",
            "5 (11): the sample of both families",
            "5 (11): what is no answer is refused",
            "5 (11), (19): a time to live that is missing"
        ),
        Case(
            12,
            "rows of one name are put together, bad addresses left out",
            "5 (12): both forms of a batch",
            "5 (12): what is no address of its list's family",
            "5 (12), (52): what is no address of the family"
        ),
        Case(
            13,
            "an empty list is an answer, and one family's absence is its own affair",
            "5 (13): a name that the account does not have",
            "5 (13): one family without addresses",
            "5 (13): the absence of one family",
            "5 (13): a family without addresses says nothing about the other",
            "half of an answer serves for its whole life"
        ),
        Case(
            14,
            "a discovery with and without ports, and one that is none",
            "5 (14): answers with and without ports",
            "5 (14): what is no answer is refused",
            "5 (14): what is no list is refused"
        ),
        Case(
            15,
            "the code of an error is read from its body, anything else is not",
            "5 (15): a status without a code",
            "the code in the body of a refusal is read"
        ),
        Case(
            16,
            "broken HTTP: chunks, lengths, heads, statuses, long bodies (libcurl reads it; each is a typed error)",
            "refused, broken and nonsensical answers each have their code",
            "what is no HTTP head is a protocol violation",
            "3b (29): lengths that lie",
            "an answer that ends after any of its bytes",
            "10 MB body: given up after 64 KiB"
        ),
    ]

    private static let caching: [Case] = [
        Case(
            17,
            "a hit within the time to live, a miss at its end",
            "an answer is used for its time to live, counted from when the query was sent"
        ),
        Case(
            18,
            "an update puts new content in the same place",
            "a thread sees at once what another one put in the place of the answer that it keeps"
        ),
        Case(
            19,
            "a time to live of 0 or less, and one that the application decides for a name",
            "5 (19): a life that is missing, 0, negative",
            "5 (11), (19): a time to live that is missing",
            "a positive life is clamped, for any time to live",
            "an override decides how long an answer lives"
        ),
        Case(
            20,
            "stale answers: served while a new one is fetched, up to a limit, or not at all",
            "invariant 7: while a provider keeps silent a question waits 300 ms",
            "(35), invariant 7: stale answers serve up to the limit"
        ),
        Case(
            21,
            "what is cleared is gone, and neither a query under way nor the store brings it back",
            "(38) what is removed during a flight does not come back",
            "what was removed, forgotten or driven out is not found any more",
            "what was forgotten while a slow store was read does not come back"
        ),
        Case(
            22,
            "answers of different keys stay apart, in memory and in the store, and come back as they were",
            "keys that differ in families, bypass or network are answered apart",
            "of several answers about one thing the newest counts",
            "what is saved is loaded, by another value too",
            "every field comes back as it was written"
        ),
        Case(
            23,
            "answers and service addresses outlive a restart, those of other settings do not",
            "5 (23), (38): addresses with their ports",
            "5 (23), (42): those of another region",
            "what was known at the shutdown is known at the next start",
            "past its life an answer of the store serves as a stale one",
            "answers of a route or provider that the settings no longer have are not used"
        ),
        Case(
            24,
            "one form of a name, whatever its case and last dot (blanks are refused, not cut off)",
            "every spelling of a name becomes its one canonical form",
            "spellings and ports of a name share one entry"
        ),
        Case(
            25,
            "a cache for each network that a phone is in",
            without: "a server does not move between networks; a client subnet has answers of its own (invariant 8)"
        ),
    ]

    private static let concurrency: [Case] = [
        Case(
            26,
            "many questions for one name are one query, and after a failure there is a new one",
            "(32) 1,000 misses at once make 1 query",
            "(34) a flight that fails frees the key"
        ),
        Case(
            27,
            "many threads, many names, for long; what is beyond the limit waits",
            "200 tasks x 50 names",
            "five thousand cold names at once: each asked once, so many at a time",
            "queries beyond the limit wait in the order of their arrival"
        ),
        Case(
            28,
            "a blocking call ends by its limit, and blocks no thread that must not be blocked",
            "the deadline is kept, and the error names the phase",
            "on the loop thread it is refused at once",
            "a shorter limit of one's own holds"
        ),
        Case(
            29,
            "what is closed refuses cleanly; many at once pass a bounded pool",
            "afterwards everything is refused with its own code",
            "a shut-down resolver answers nothing",
            "100 requests, limit 4: nginx never sees a fifth connection"
        ),
    ]

    private static let failover: [Case] = [
        Case(
            30,
            "one more try after a failure, none after a success, none where none is wanted",
            "5 (30), (32): an address that does not answer",
            "503, 503, 200 is 200 after two retries",
            "nothing is sent again unless asked for"
        ),
        Case(
            31,
            "tries at dead addresses end by the time limit together",
            "5 (31): the addresses of one query share its time limit"
        ),
        Case(
            32,
            "which failures lead to another address and which do not",
            "5 (30), (32): an address that does not answer",
            "5 (32), (36): the table of errors",
            "5 (32), (36): the table of statuses"
        ),
        Case(
            33,
            "when every address fails new ones are asked for, of all that are known and then of the settings' own",
            "5 (33): when every known address fails",
            "5 (33): a discovery asks the next address"
        ),
        Case(
            34,
            "a service that keeps failing is only tried now and then, and comes back with a success",
            "quarantine is 1 s after the first failure, doubles to 30 s, and one success ends it",
            "a probe is a copy: the caller gets the healthy one's answer"
        ),
        Case(
            35,
            "an address that failed rests for five minutes; when all rest they are asked all the same",
            "5 (35): one that failed is left alone for five minutes",
            "5 (35): when all failed"
        ),
        Case(
            36,
            "a refused account fails fast, a server's failure and a rate limit do not end it",
            "5 (32), (36): the table of errors",
            "5 (32), (36): the table of statuses",
            "A refusal of the account stops all queries",
            "InvalidHost, an expired signature and a rate limit do not stop the next query"
        ),
        Case(
            37,
            "discovered addresses before the settings' own",
            "5 (37): discovered addresses come before the settings' own",
            "5 (37): a region's own addresses are asked"
        ),
        Case(
            38,
            "what is known of addresses outlives a restart and a list that says the same",
            "5 (23), (38): addresses with their ports",
            "5 (38): a new discovery forgets no quarantine"
        ),
        Case(
            39,
            "the system resolver after failures, or nothing where it is not wanted",
            "with fallback the system answers until the providers may be asked again",
            "when all fail without a fallback the request fails closed"
        ),
    ]

    private static let discovery: [Case] = [
        Case(
            40,
            "a least time between discoveries, and one at a time",
            "5 (40), (41): a discovery is due at once",
            "5 (40): of many queries at once one begins a discovery"
        ),
        Case(
            41,
            "a discovery each day; a service that is switched off is not asked",
            "5 (40), (41): a discovery is due at once",
            "5 (41), (42): a day later it is asked again",
            "5 (41): service_status disable switches off",
            "5 (41): a vendor that has switched the account off is asked nothing more"
        ),
        Case(
            42,
            "addresses of another region are not used",
            "5 (23), (42): those of another region",
            "5 (41), (42): a day later it is asked again"
        ),
        Case(
            43,
            "a discovery by the family that the machine has a way for",
            "5 (43): a machine with a way for one family alone is answered by the second address at the latest"
        ),
        Case(
            44,
            "asking anew when a phone's network changes",
            without: "a server stays in its network; a time to live and a retry after a failure bring what is new"
        ),
    ]

    private static let ranking: [Case] = [
        Case(
            45,
            "the fastest address first and failing ones last, measured a few at a time",
            "by pace: each is measured once, then the fastest goes first",
            "healthy ones go first, then suspects, then those that cool down",
            "no more than so many at once; the end of one begins the next"
        )
    ]

    private static let interface: [Case] = [
        Case(
            46,
            "names that are left to the system, alone and in batches",
            "bypass goes to the system resolver: by request, by mapping, by route",
            "names without a route are asked of the system, and of no provider"
        ),
        Case(
            47,
            "defaults as documented; what is set is what is there",
            "5 (47): the defaults are those of the documentation",
            "The smallest file gives the defaults",
            "Values become a client's configuration"
        ),
        Case(
            48,
            "accounts stay apart; a secret that comes later counts",
            "5 (48): a secret that was changed signs the next query",
            "5 (48): a token that was changed",
            "mappings, cached answers and counters of one client are none of another's"
        ),
        Case(
            49,
            "a log of the application's own, as talkative as it wants",
            "at the default level, all kinds of events together are six lines",
            "at trace level every kind of event has a message of its own"
        ),
        Case(
            50,
            "resolving ahead: many names, what is known already left out, failures told",
            "twenty names at a provider that takes five at once are four queries",
            "names that could not be resolved come back with their reasons"
        ),
        Case(
            51,
            "waiting or not, one name or several, cached or not, with parameters",
            "every way of asking: one name and several",
            "an answer is used for its time to live, counted from when the query was sent",
            "the callback gets the response with its body",
            "from the main thread",
            "5 (8): custom parameters stand beside the question"
        ),
        Case(
            52,
            "addresses of either family, names and near misses are told apart",
            "IPv4 is read in its one full decimal form",
            "IPv6 is written as RFC 5952 says",
            "forms that programs read differently are no addresses",
            "5 (12), (52): what is no address of the family"
        ),
        Case(
            53,
            "an address in place of a name is not looked up",
            "literals are dialled as they are, and nobody is asked",
            "literals and localhost are pinned, and no provider hears of them"
        ),
    ]

    private static let routing: [Case] = [
        Case(
            54,
            "an address in the name's place leaves the rest of the URL as it is, IPv6 in brackets",
            "it shows every field of a mapped name",
            "another port than the URL's is in the address form",
            "an IPv6 address goes through curl too"
        ),
        Case(
            55,
            "rules before or after all else, taking turns among addresses; a hijacked answer is found out",
            "a mapping wins over providers and cache",
            "they come after providers, stale answers and the system",
            "row 22: by turns, ninety requests over three addresses",
            "a poisoned system answer that cannot prove the name"
        ),
        Case(
            56,
            "a full cache lets go of what nobody uses (addresses for NAT64 are a phone's affair)",
            "names in use survive a flood of names that are asked for once",
            "any number of names leaves the table within its bounds"
        ),
    ]

    private static let transport: [Case] = [
        Case(
            57,
            "connections are kept for their own origin, until idle for too long, and not cut in use",
            "a hundred requests travel on one connection",
            "sixty-four at once on two addresses of one name never mix",
            "a connection without work is closed at its idle limit",
            "a transfer in flight ends as it began"
        ),
        Case(
            58,
            "TLS proves the name and not the address, by an authority that is trusted",
            "invariant 17: the request reaches the pinned address with Host, SNI and certificate check of the name",
            "invariant 17: a certificate that does not prove the name is refused",
            "a certificate of an authority that is not trusted is refused"
        ),
    ]

    @Test("A case of theirs", arguments: 1...58)
    func vendorCase(number: Int) throws {
        #expect(Self.cases.count == 58)
        let vendorCase = try #require(Self.cases.first { $0.number == number })
        #expect(vendorCase.titles.isEmpty == (vendorCase.reason?.isEmpty == false))
        for title in vendorCase.titles {
            #expect(TestTitles.all.contains { $0.contains(title) }, "\(vendorCase.behaviour): no test \(title)")
        }
    }
}
