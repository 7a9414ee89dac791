// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The reason that the address policy refuses an address. Addresses of one kind have the same reason.
struct AddressRefusal: Hashable, Sendable {
    /// The kind of the address and the reason, behind the verb: `loopback (127.0.0.0/8); the provider may ...`.
    var reason: String
    /// The settings that would allow it, or another correction.
    var remedy: String
    /// Whether the remedy is a list of settings, and no clause.
    var isSetting = false

    /// Returns the text for one address, with the remedy.
    func text(of address: HTTPDNSAddress) -> String {
        "\(address) is \(reason); \(isSetting ? "allow it with \(remedy)" : remedy)"
    }

    /// Returns the text for addresses with this reason.
    private func text(of addresses: [HTTPDNSAddress]) -> String {
        let shown = addresses.prefix(Self.addressesListed).map(\.description).joined(separator: ", ")
        let more = addresses.count - Self.addressesListed
        return "\(shown)\(more > 0 ? " and \(more) more" : "") \(addresses.count == 1 ? "is" : "are") \(reason)"
    }

    /// The number of addresses of one kind that a text lists. More would fill a log line.
    private static let addressesListed = 8

    /// The refusal of every address of an answer.
    struct Summary: Hashable, Sendable {
        /// The addresses with their reasons.
        var text: String
        /// The settings that would allow them, or other corrections.
        var remedy: String

        /// The message of a source whose answer is refused.
        var message: String { "the address policy refused every address: \(text)" }

        /// Returns the refusal of several answers: each text and each remedy once.
        static func joined(_ summaries: [Summary]) -> Summary {
            var (texts, remedies): ([String], [String]) = ([], [])
            for summary in summaries {
                if !texts.contains(summary.text) { texts.append(summary.text) }
                if !remedies.contains(summary.remedy) { remedies.append(summary.remedy) }
            }
            return Summary(text: texts.joined(separator: "; "), remedy: remedies.joined(separator: "; "))
        }
    }

    /// Returns the reasons for refusing addresses, each once, with their remedies.
    static func summary(_ refused: [(address: HTTPDNSAddress, refusal: AddressRefusal)]) -> Summary {
        var kinds: [AddressRefusal] = []
        for (_, refusal) in refused where !kinds.contains(refusal) { kinds.append(refusal) }
        let texts = kinds.map { kind in kind.text(of: refused.filter { $0.refusal == kind }.map(\.address)) }
        var remedies: [String] = []
        for kind in kinds where !remedies.contains(kind.remedy) { remedies.append(kind.remedy) }
        return Summary(text: texts.joined(separator: "; "), remedy: remedies.joined(separator: "; "))
    }
}
