// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO
internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// A call of a Varlink client: a JSON object (https://varlink.org/Interface-Definition).
enum VarlinkRequest: Hashable, Sendable {
    /// The addresses of a name (`io.systemd.Resolve.ResolveHostname`), of a family, or of both.
    case hostname(String, HTTPDNSAddress.Family?)
    /// The description of the service (`org.varlink.service.GetInfo`).
    case information
    /// The names to ask for (`io.systemd.Resolve.Hook.QueryFilter`), and each change of them when it is watched.
    case filter(isWatched: Bool)
    /// Records that belong together (`io.systemd.Resolve.Hook.ResolveRecord`).
    case records([RecordKey])
    /// A method that is not served, or parameters that are none of this service's.
    case other(method: String)
    /// A call that expects no reply.
    case oneWay

    /// A name with a type and a class.
    struct RecordKey: Hashable, Sendable {
        var name: String
        var type: UInt16
        var recordClass: UInt16

        init(_ name: String, type: UInt16, recordClass: UInt16 = 1) {
            (self.name, self.type, self.recordClass) = (name, type, recordClass)
        }

        fileprivate init?(_ question: JSONValue) {
            guard let key = question["key"], let name = key["name"]?.text, let type = key["type"]?.uint16,
                let recordClass = key["class"]?.uint16
            else { return nil }
            self.init(name, type: type, recordClass: recordClass)
        }
    }

    private static let addressFamilies: [JSONValue: HTTPDNSAddress.Family?] = [
        // AF_UNSPEC, AF_INET and AF_INET6 of Linux.
        .number(0): nil, .number(2): .v4, .number(10): .v6,
    ]

    /// Parses a message, without the NUL at its end.
    /// - Returns: Nil for one that is no call.
    init?(_ message: [UInt8]) {
        guard let call = try? JSONReader.read(message), let method = call["method"]?.text else { return nil }
        if call["oneway"] == .bool(true) {
            self = .oneWay
            return
        }
        self = .other(method: method)
        switch method {
        case "org.varlink.service.GetInfo": self = .information
        case "io.systemd.Resolve.Hook.QueryFilter": self = .filter(isWatched: call["more"] == .bool(true))
        case "io.systemd.Resolve.Hook.ResolveRecord":
            guard case .array(let questions)? = call["parameters"]?["question"], !questions.isEmpty else { break }
            let keys = questions.compactMap(RecordKey.init)
            if keys.count == questions.count { self = .records(keys) }
        case "io.systemd.Resolve.ResolveHostname":
            let parameters = call["parameters"]
            let family = VarlinkRequest.addressFamilies[parameters?["family"] ?? .number(0)]
            if let name = parameters?["name"]?.text, let family { self = .hostname(name, family) }
        default: break
        }
    }
}

/// A reply to a ``VarlinkRequest``: this and the replies of a hook are the only code that writes one.
///
/// libnss-resolve (systemd 252) stops its process at a reply without addresses, and at one with addresses of another family than it
/// asked for. So ``addresses(_:of:family:)`` alone makes a reply with addresses, and none is empty.
struct VarlinkReply: Hashable, Sendable {
    enum Kind: Sendable {
        case addresses, notOurs, noSuchName, noAddress, failed, other
    }

    let kind: Kind
    /// The message, with the NUL at its end.
    let bytes: [UInt8]

    init(_ kind: Kind, json: String) { (self.kind, bytes) = (kind, Array(json.utf8) + [0]) }

    private init(_ kind: Kind, error: String, parameters: String = "{}") {
        self.init(kind, json: #"{"error":"\#(error)","parameters":\#(parameters)}"#)
    }

    /// The maximum number of addresses of a family.
    static let maximumAddresses = 16

    /// The reply to a call whose name this service does not decide about: libnss-resolve reports itself as unavailable, and the next
    /// service of `nsswitch.conf` is asked.
    static func notOurs(_ method: String) -> VarlinkReply {
        let isPlain = method.utf8.allSatisfy { $0.isLetterOrDigit(or: "-_.") }
        let parameters = isPlain ? #"{"method":"\#(method)"}"# : "{}"
        return VarlinkReply(.notOurs, error: "org.varlink.service.MethodNotImplemented", parameters: parameters)
    }

    static let notOurs = notOurs("io.systemd.Resolve.ResolveHostname")
    /// The name does not exist (RCODE 3 of RFC 1035 section 4.1.1).
    static let noSuchName = VarlinkReply(.noSuchName, error: "io.systemd.Resolve.DNSError", parameters: #"{"rcode":3}"#)
    /// The name has no address that may be used.
    static let noAddress = VarlinkReply(.noAddress, error: "io.systemd.Resolve.NoSuchResourceRecord")
    /// The caller is to try again (EAI_AGAIN).
    static let failed = VarlinkReply(.failed, error: "io.systemd.Resolve.NoNameServers")
    /// The same, after the limit of time.
    static let timedOut = VarlinkReply(.failed, error: "io.systemd.Resolve.QueryTimedOut")

    static let information = VarlinkReply(
        .other,
        json:
            #"{"parameters":{"vendor":"swift-httpdns","product":"resolve-test agent","version":"\#(LibraryVersion.current)","#
            + #""url":"","interfaces":["org.varlink.service","io.systemd.Resolve","io.systemd.Resolve.Hook"]}}"#
    )

    /// Returns the reply with those endpoints that an address alone can express, in their order: of the family, and without a port of
    /// their own. Without any it is ``noAddress``.
    static func addresses(
        _ endpoints: [HTTPDNSEndpoint],
        of name: HTTPDNSName,
        family: HTTPDNSAddress.Family?
    ) -> VarlinkReply {
        var counts: [HTTPDNSAddress.Family: Int] = [:]
        var texts: [String] = []
        for endpoint in endpoints
        where endpoint.port == 0 && (family ?? endpoint.address.family) == endpoint.address.family {
            let address = endpoint.address
            let count = counts[address.family, default: 0]
            guard count < maximumAddresses else { continue }
            counts[address.family] = count + 1
            let bytes = address.bytes.map { "\($0)" }.joined(separator: ",")
            texts.append(#"{"family":\#(address.family == .v4 ? 2 : 10),"address":[\#(bytes)]}"#)
        }
        guard !texts.isEmpty else { return noAddress }
        // Flag 1: the answer of the DNS, and not of the hosts file or of another protocol (SD_RESOLVED_DNS). A name has letters,
        // digits, `-`, `_` and `.` alone.
        return VarlinkReply(
            .addresses,
            json: #"{"parameters":{"addresses":[\#(texts.joined(separator: ","))],"name":"\#(name)","flags":1}}"#
        )
    }

    /// Returns the reply for a lookup that failed.
    static func failure(_ error: HTTPDNSResolver.Error?) -> VarlinkReply {
        switch error?.code {
        case .nameNotFound?: noSuchName
        case .noAddresses?, .policyRefused?: noAddress
        case .invalidName?: notOurs
        case .timedOut?: timedOut
        default: failed
        }
    }
}

/// The messages of a connection: each ends with a NUL, and the next one is taken when the one before is replied to. A value.
struct VarlinkMessages: Sendable {
    /// The maximum number of bytes that wait.
    static let maximumBytes = 64 * 1024

    private var bytes: [UInt8] = []
    private var isBusy = false

    /// Adds bytes of the peer.
    /// - Returns: Whether they have room.
    mutating func received(_ new: some Collection<UInt8>) -> Bool {
        guard bytes.count + new.count <= VarlinkMessages.maximumBytes else { return false }
        bytes += new
        return true
    }

    /// Returns the next message, unless one is not replied to yet.
    mutating func next() -> [UInt8]? {
        guard !isBusy, let end = bytes.firstIndex(of: 0) else { return nil }
        isBusy = true
        defer { bytes.removeFirst(end + 1) }
        return Array(bytes[..<end])
    }

    /// Notes that the last message is replied to.
    mutating func replied() { isBusy = false }
}
#endif
