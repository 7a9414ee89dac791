// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// A name that is in the cache: from the host name to an answer within its life.
enum CacheScenario {
    static let addresses = [HTTPDNSAddress(v4: 203, 0, 113, 7), HTTPDNSAddress(v4: 203, 0, 113, 8)]

    static func answer(at now: MonotonicTime) -> KnownAnswer {
        let origin = AnswerOrigin(
            source: .provider,
            provider: "bench",
            providerScope: .public,
            route: nil,
            policy: HTTPDNSAddressPolicy(),
            staleLimit: .seconds(3600)
        )
        return KnownAnswer(.addresses(addresses), origin: origin, sentAt: now, life: .seconds(3600))
    }

    static func make() -> Scenario {
        let clock = SystemTimeSource()
        let now = clock.now()
        let cache = AnswerCache(entries: 4096, bytes: 8 << 20)
        let answer = answer(at: now)
        for number in 0..<Names.count { cache.restore(answer, for: CacheKey(Names.host(number)), at: now) }

        let peers = Dictionary(
            uniqueKeysWithValues: (0..<Names.count).map {
                (Names.text($0), PeerAnswer(addresses, expiresAt: now + .seconds(3600)))
            }
        )
        let locked = LockedDictionary(peers)
        let actor = DictionaryActor(peers)
        return Scenario(
            name: "cache",
            contenders: [
                Contender(
                    "cache",
                    .synchronous { names in
                        { calls in
                            for call in calls {
                                let key = CacheKey(names.hosts[names.place(of: call)])
                                guard let found = cache.find(key), found.isFresh(at: clock.coarseNow()) else {
                                    return requireHit(false, "the cache")
                                }
                            }
                        }
                    }
                ),
                Contender(
                    "Mutex<Dictionary>",
                    .synchronous { names in
                        { calls in
                            for call in calls {
                                let found = locked.find(names.texts[names.place(of: call)])
                                guard let found, clock.coarseNow() < found.expiresAt else {
                                    return requireHit(false, "the dictionary")
                                }
                            }
                        }
                    }
                ),
                Contender(
                    "actor (from tasks)",
                    .asynchronous { names in
                        { calls in
                            for call in calls {
                                let found = await actor.find(names.texts[names.place(of: call)])
                                guard let found, clock.coarseNow() < found.expiresAt else {
                                    return requireHit(false, "the actor")
                                }
                            }
                        }
                    }
                ),
            ],
            choices: [.mixed, .hot],
            threads: [1, 2, 8]
        )
    }
}
