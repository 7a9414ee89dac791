// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNS
internal import HTTPDNSCore

/// From a query to a resolution, which has passed mappings, routes and address policy and was counted.
enum ResolverScenario {
    static func make() async throws -> Scenario {
        let provider = try HTTPDNSResolver(Subjects.providerConfiguration(.many))
        try await Subjects.warm(provider)
        let mapping = try HTTPDNSResolver(Subjects.mappingConfiguration(.many))
        let providerOfFew = try HTTPDNSResolver(Subjects.providerConfiguration(.few))
        try await Subjects.warm(providerOfFew)
        let mappingOfFew = try HTTPDNSResolver(Subjects.mappingConfiguration(.few))
        return Scenario(
            name: "resolver",
            contenders: [
                contender("cached answer", provider), contender("mapping", mapping),
                contender("cached, few rules", providerOfFew), contender("mapping, few rules", mappingOfFew),
            ],
            choices: [.mixed, .hot],
            threads: threads
        )
    }

    /// 1, 2 and 8, and as many as the machine has processors.
    static var threads: [Int] { Set([1, 2, 8, max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))]).sorted() }

    private static func contender(_ name: String, _ resolver: HTTPDNSResolver) -> Contender {
        Contender(
            name,
            .synchronous { names in
                { calls in
                    for call in calls {
                        let question = HTTPDNSResolver.Query(.name(names.hosts[names.place(of: call)]), port: 443)
                        let found = try? resolver.cached(question)
                        guard found != nil else { return requireHit(false, name) }
                    }
                }
            }
        )
    }
}
