/// A namespace for the values of a transfer, which the client and its transport share.
///
/// The client has its own name for each, such as `HTTPDNSClient.Exchange.Timings`: use that one.
public enum HTTPDNSTransfer {}
