// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore

/// From a question to a resolution, which has passed mappings, routes and address policy and was counted.
enum ResolverScenario {
    static func make() async throws -> Scenario {
        let provider = try HTTPDNSResolver(Subjects.providerConfiguration())
        try await Subjects.warm(provider)
        let mapping = try HTTPDNSResolver(Subjects.mappingConfiguration())
        return Scenario(
            name: "resolver",
            contenders: [contender("cached answer", provider), contender("mapping", mapping)],
            choices: [.mixed, .hot],
            threads: [1, 2, 8]
        )
    }

    private static func contender(_ name: String, _ resolver: HTTPDNSResolver) -> Contender {
        Contender(
            name,
            .synchronous { names in
                { calls in
                    for call in calls {
                        let question = HTTPDNSResolver.Query(.name(names.hosts[names.place(of: call)]), port: 443)
                        let found = try? resolver.immediateResolution(for: question)
                        guard found != nil else { return requireHit(false, name) }
                    }
                }
            }
        )
    }
}
