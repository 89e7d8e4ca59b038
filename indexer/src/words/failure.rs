//! Why a verb could not run, and what may be done about it.

use wakashu_storage::StorageError;

use super::Remark;
use crate::begun::{BegunError, JOURNAL};
use crate::site::SiteError;

/// Says that a folder could not be walked.
pub(crate) fn not_a_collection(path: &str, en: String) -> Remark {
    Remark::new(en, format!("「{path}」を和歌集として開けません"))
}

pub(crate) fn not_an_output(path: &str, en: String) -> Remark {
    Remark::new(en, format!("「{path}」はフォルダーではなく、.wakashu で終わる名前でもありません"))
}

pub(crate) fn unreadable(path: &str, en: String) -> Remark {
    Remark::new(en, format!("「{path}」を読めません"))
}

pub(crate) fn unwritable(path: &str, en: String) -> Remark {
    Remark::new(en, format!("「{path}」に書けません"))
}

pub(crate) fn archive_unwritten(en: String) -> Remark {
    Remark::new(en, "アーカイブを書けません")
}

pub(crate) fn begun(error: &BegunError) -> Remark {
    let ja = match error {
        BegunError::Busy(folder) => format!("「{folder}」は、別の wakashu が変更しているところです"),
        BegunError::Lost { journal, missing } => {
            format!("「{journal}」の続きを済ませられません。「{missing}」が見つかりません")
        }
        BegunError::Journal(journal) => {
            format!("「{journal}」の続きを済ませられません。add が書いたものではないようです")
        }
        BegunError::Io { path, .. } => format!("「{path}」を変更できません"),
    };
    Remark::new(error.to_string(), ja)
}

pub(crate) fn begun_hint(error: &BegunError) -> Option<Remark> {
    match error {
        BegunError::Busy(_) => Some(busy()),
        BegunError::Lost { .. } | BegunError::Journal(_) => Some(Remark::new(
            format!("see that the poems of the round are all there, then remove `{JOURNAL}`"),
            format!("その回の歌がそろっているかを確かめてから、{JOURNAL} を消してください。"),
        )),
        BegunError::Io { .. } => None,
    }
}

pub(crate) fn site(error: &SiteError) -> Remark {
    let ja = match error {
        SiteError::Io { path, .. } => format!("「{path}」を読み書きできません"),
        SiteError::Foreign { folder, count, names } => format!(
            "「{folder}」には、サイトと同じ名前の別のファイルが {count} 個あります：「{}」",
            names.join("」「")
        ),
        SiteError::Busy { folder } => format!("「{folder}」には、別の export が書いているところです"),
        SiteError::BadList { path, reason } => format!("「{path}」が壊れています（{reason}）"),
        SiteError::Storage(error) | SiteError::Open(wakashu_storage::OpenError::Storage(error)) => {
            return storage(error);
        }
        SiteError::Open(_) => error.to_string(),
    };
    Remark::new(error.to_string(), ja)
}

/// What a store did not do.
pub(crate) fn storage(error: &StorageError) -> Remark {
    use StorageError as E;
    let ja = match error {
        E::NotFound { object } => format!("「{object}」が見つかりません"),
        E::Denied { object, .. } => format!("「{object}」を使う権限がありません"),
        E::NoSuchBucket { bucket } => format!("バケット「{bucket}」がありません"),
        E::WrongRegion { bucket, asked, expected: None } => {
            format!("バケット「{bucket}」は、リージョン {asked} にはありません")
        }
        E::WrongRegion { bucket, asked, expected: Some(expected) } => {
            format!("バケット「{bucket}」は、リージョン {asked} ではなく {expected} にあります")
        }
        E::ExpiredCredentials { .. } => "AWS の認証の期限が切れています".to_owned(),
        E::MissingCredentials { .. } => "AWS の認証情報が見つかりません".to_owned(),
        E::BadCredentials { .. } => "AWS の認証情報が受け付けられませんでした".to_owned(),
        E::Timeout { object, seconds } => format!("「{object}」から {seconds} 秒以内に返事がありません"),
        E::Unreachable { object, .. } => format!("「{object}」の置き場所につながりません"),
        E::Changed { object } => format!("「{object}」は、その間に書き換えられました"),
        E::Untrusted { object, .. } => format!("「{object}」のサーバーの証明書を確かめられません"),
        E::BadPointer { object, .. } => format!("「{object}」を版の記録として読めません"),
        E::BadArchive { path, .. } => format!("「{}」は公開できません", path.display()),
        E::SourceChanged { path } => {
            format!("公開している間に「{}」が書き換えられました", path.display())
        }
        E::NoEntries { path } => format!("「{}」には歌がないので、公開できません", path.display()),
        E::DoesNotStay { object } => format!("「{object}」が、書いたあとで消えたか壊れています"),
        E::NothingPublished { store } => format!("「{store}」には、まだ何も公開していません"),
        E::NotInHistory { store, digest } => format!("「{store}」の履歴に、版 {digest} はありません"),
        E::NoEarlierVersion { store, published_at, .. } => {
            format!("「{store}」には、今の版（{} に公開）より前の版がありません", published_at.jst())
        }
        E::ArchiveGone { object } => format!("履歴にある「{object}」が、なくなっています"),
        E::Io { path, .. } => format!("「{}」を読み書きできません", path.display()),
        _ => error.to_string(),
    };
    Remark::new(error.to_string(), ja)
}

/// What may be done about it, where there is something to say.
pub(crate) fn storage_hint(error: &StorageError) -> Option<Remark> {
    use StorageError as E;
    let en = error.hint()?;
    let is_on_the_web = |object: &str| object.starts_with("https://") || object.starts_with("http://");
    let ja = match error {
        E::NotFound { .. } | E::NothingPublished { .. } => {
            "先に、そこに公開してください。場所が違っていないかも確かめてください。"
        }
        E::Denied { object, .. } if is_on_the_web(object) => {
            "だれでも読めるようにしてください。ウェブでは、認証なしで読みます。"
        }
        E::Denied { .. } => {
            "バケットとプレフィックスに、読むには s3:GetObject、公開するには s3:PutObject、s3:ListBucket、s3:DeleteObject も要ります。"
        }
        E::Timeout { object, .. } | E::Unreachable { object, .. } if is_on_the_web(object) => {
            "ネットワークとアドレスを確かめて、もう一度実行してください。"
        }
        E::Timeout { .. } | E::Unreachable { .. } => {
            "ネットワークと AWS_ENDPOINT_URL を確かめて、もう一度実行してください。"
        }
        E::Untrusted { .. } => {
            "サーバーの証明書と、このコンピューターの時計を確かめてください。SSL_CERT_FILE で、信頼する証明書を指定できます。"
        }
        E::NoSuchBucket { .. } => "バケットの名前を確かめるか、先に作ってください。",
        E::WrongRegion { .. } => "AWS_REGION に、バケットのあるリージョンを指定してください。",
        E::ExpiredCredentials { .. } => "もう一度サインインしてください（aws sso login など）。",
        E::MissingCredentials { .. } => {
            "AWS_PROFILE か、AWS_ACCESS_KEY_ID と AWS_SECRET_ACCESS_KEY を指定するか、aws sso login でサインインしてください。"
        }
        E::BadCredentials { .. } => "アクセスキーと、このコンピューターの時計を確かめてください。",
        E::Changed { .. } => {
            "別の公開が先に終わりました。wakashu history を見て、必要ならもう一度実行してください。"
        }
        E::BadPointer { .. } => "元の版に戻すか、そのファイルを消してから公開し直してください。",
        E::OtherLength { .. } => {
            "アーカイブを公開し直してください。サーバーが圧縮などをせず、そのまま送るようにもしてください。"
        }
        E::BadArchive { .. } => "作り直して、wakashu check で調べてください。",
        E::SourceChanged { .. } => "書き込みが終わるのを待って、公開し直してください。",
        E::NoEntries { .. } => "歌のある和歌集から作り直してください。",
        E::NotInHistory { .. } => "戻せる版は、wakashu history で見られます。",
        E::NoEarlierVersion { others: 0, .. } => "版はこれ一つです。見せたいものを、新しく公開してください。",
        E::NoEarlierVersion { .. } => {
            "取り消した版なら、番号を指定して戻せます。番号は wakashu history で見られます。"
        }
        E::ArchiveGone { .. } => "wakashu history にある別の版を指定するか、和歌集を公開し直してください。",
        E::DoesNotStay { .. } => {
            "ファイルを消しているプログラムや設定（ライフサイクル）がないかを調べて、公開し直してください。"
        }
        _ => en,
    };
    Some(Remark::new(en, ja))
}

pub(crate) fn busy() -> Remark {
    Remark::new("wait until it has ended, or stop it", "終わるまで待つか、そちらを止めてください。")
}

pub(crate) fn output() -> Remark {
    Remark::new(
        "make the directory first, end it with `/`, or name a `.wakashu` file",
        "先にフォルダーを作るか、終わりに / を付けるか、.wakashu で終わるファイルを指定してください。",
    )
}

pub(crate) fn digest() -> Remark {
    Remark::new(
        "`wakashu history` lists the versions with their digests",
        "版の番号は、wakashu history で見られます。",
    )
}

pub(crate) fn nothing_there() -> Remark {
    Remark::new("look at the path; nothing is there", "場所を確かめてください。そこには何もありません。")
}

pub(crate) fn permissions() -> Remark {
    Remark::new("look at the permissions", "アクセス権を確かめてください。")
}

pub(crate) fn disk_full() -> Remark {
    Remark::new("the disk is full", "ディスクの空きを増やしてください。")
}

pub(crate) fn fix_of_an_archive() -> Remark {
    Remark::new(
        "`--fix` is for collections; build an archive again instead",
        "--fix は和歌集に使います。アーカイブは作り直してください。",
    )
}

pub(crate) fn not_listening(address: &str) -> Remark {
    Remark::new(format!("could not listen on `{address}`"), format!("{address} で待ち受けられません"))
}
