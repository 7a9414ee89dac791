internal import CHTTPDNSCurl
internal import HTTPDNSPrimitives

/// What makes two transfers share connections: the same name, dialled at the same endpoint, over the same versions.
struct PinKey: Hashable {
    var host: ParsedURL.Host
    var port: UInt16
    var endpoint: HTTPDNSEndpoint
    var versions: HTTPDNSTransfer.AllowedVersions
    /// Where the endpoint is not simply connected to.
    var passage: Passage?
    /// Whether the server learns nothing of the client's own certificate. A session that was made with it would show who the
    /// client is.
    var withholdsCertificate = false
}

extension PinKey {
    /// - Parameter hasCertificate: Whether the loop's connections have a client certificate at all.
    init(of transfer: Transfer, _ endpoint: HTTPDNSEndpoint, hasCertificate: Bool) {
        host = transfer.request.url.host
        port = transfer.request.url.port
        self.endpoint = endpoint
        versions = transfer.request.versions
        passage = transfer.request.passage
        withholdsCertificate = hasCertificate && transfer.request.withholdsCertificate
    }
}

/// What libcurl is told about one key: a made-up name that its pool knows the connections by, and that name's address.
///
/// libcurl's pool does not look at addresses, and a RESOLVE entry on the real name is seen by other transfers too; a name
/// under `.invalid` (RFC 6761 section 6.4) that stands for one endpoint only has neither fault.
/// libcurl does not copy the lists: they are freed when the last transfer that was given them is over.
final class Pin {
    let key: PinKey
    let slot: Int
    /// Given to one pin at a time.
    let number: UInt64
    /// Never given again.
    let serial: UInt64
    /// `p7.invalid`
    let name: String
    /// What libcurl knows the proxy by; empty without one.
    let proxyName: String
    /// Whether other pins have entries under the same name, which each transfer must bring itself then.
    let sharesName: Bool
    /// The connected address as libcurl reports it, for the check before each request.
    let addressText: String
    /// CURLOPT_CONNECT_TO, see ``PinEntries``.
    let connectTo: UnsafeMutablePointer<curl_slist>?
    /// CURLOPT_RESOLVE.
    let resolve: UnsafeMutablePointer<curl_slist>?
    /// The RESOLVE lines that take the entries out of libcurl's table.
    let removals: [String]
    /// Whether the entry is known to stand in libcurl's table, so that a transfer need not bring it again.
    var isEntered = false
    /// Transfers that libcurl may still look the name up for.
    var transfersInFlight = 0
    /// The connections, in use or idle, that libcurl could still find by the name.
    var connections = PinConnections()
    /// The transfers that wait until a connection has room.
    var streams = StreamQueue()
    /// The last time that a connection was made.
    var reachedAt = Int64.min
    /// Sessions that its connections may resume.
    var sessions = TLSSessionPool()
    /// Counts the requests that were sent to its endpoint; nil before its first socket.
    var requests: RequestCount?
    /// Whether the table has dropped the pin.
    var isRetired = false
    /// When bytes of an answer last came.
    var heardAt = Int64.min

    init(_ key: PinKey, slot: Int, number: UInt64, serial: UInt64 = 0) {
        self.key = key
        self.slot = slot
        self.number = number
        self.serial = serial
        name = "p\(number).invalid"
        let told = PinEntries(key, number: number)
        proxyName = told.proxyName
        sharesName = told.sharesName
        addressText = (key.passage?.proxy?.endpoint ?? key.endpoint).address.description
        connectTo = told.connectTo.flatMap { curl_slist_append(nil, $0) }
        resolve = told.entries.reduce(nil) { list, entry in curl_slist_append(list, entry) }
        removals = told.removals
    }

    deinit {
        curl_slist_free_all(connectTo)
        curl_slist_free_all(resolve)
    }
}
