internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// The order in which the transport tries the addresses of a resolution, as far as the client's setting applies.
struct AddressOrder: Sendable {
    private let selection: HTTPDNSClient.Configuration.Connections.Selection
    private let adaptive: EndpointOrder

    init(_ settings: HTTPDNSClient.Configuration.Connections) {
        selection = settings.selection
        adaptive = .adaptive(first: settings.firstFamily)
    }

    func order(of resolution: borrowing HTTPDNSResolver.Resolution) -> EndpointOrder {
        if selection == .automatic { return resolution.isOrdered ? .given : adaptive }
        if resolution.isChosen { return .given }
        return switch selection {
        case .roundRobin: .roundRobin
        case .random: .random
        case .fastest: .fastest
        default: .given
        }
    }
}
