# csis modules 1

resource "aws_s3_bucket" "this" {
  bucket        = var.bucket_name
  force_destroy = var.force_destroy
  tags          = merge({ Name = var.bucket_name }, var.tags)
}

resource "aws_s3_object" "group_prefix" {
  for_each = toset(var.group_prefixes)

  bucket  = aws_s3_bucket.this.id
  key     = "${each.value}/"
  content = ""
  tags    = { "csis:group" = each.value }
}

data "aws_caller_identity" "current" {}

locals {
  partition = split(":", data.aws_caller_identity.current.arn)[1]
}

# Written out, not read from a policy document: a document that names the bucket is read only at the apply
# whenever anything of the bucket changes, and then nobody sees beforehand whom the policy lets in.
resource "aws_s3_bucket_policy" "public_read" {
  count = var.public_read ? 1 : 0

  bucket = aws_s3_bucket.this.id

  # Every principal, but of this account alone.
  policy = chomp(<<-JSON
    {
      "Version": "2012-10-17",
      "Statement": [
        {
          "Sid": "AccountWideReadOnly",
          "Effect": "Allow",
          "Action": [
            "s3:GetObject",
            "s3:ListBucket"
          ],
          "Resource": [
            "arn:${local.partition}:s3:::${var.bucket_name}",
            "arn:${local.partition}:s3:::${var.bucket_name}/*"
          ],
          "Principal": {
            "AWS": "*"
          },
          "Condition": {
            "StringEquals": {
              "aws:PrincipalAccount": "${data.aws_caller_identity.current.account_id}"
            }
          }
        }
      ]
    }
  JSON
  )
}

resource "aws_s3_bucket_lifecycle_configuration" "this" {
  count = length(var.lifecycle_rules) == 0 ? 0 : 1

  bucket = aws_s3_bucket.this.id

  dynamic "rule" {
    for_each = var.lifecycle_rules

    content {
      id     = rule.value.id
      status = "Enabled"

      filter {
        prefix = rule.value.prefix
      }

      dynamic "transition" {
        for_each = rule.value.transition_days > 0 ? [rule.value] : []

        content {
          days          = transition.value.transition_days
          storage_class = transition.value.storage_class
        }
      }

      dynamic "expiration" {
        for_each = rule.value.expire_days > 0 ? [rule.value] : []

        content {
          days = expiration.value.expire_days
        }
      }
    }
  }
}
