/// That a query is sent to a provider, for metrics.
struct QuerySending: Sendable, Equatable {
    var provider: String
    /// Whether it is asked because the one before keeps silent.
    var isHedge: Bool
    /// Whether it is asked to see if the provider is back.
    var isProbe: Bool
}
